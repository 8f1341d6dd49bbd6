"""Models of other makers, as bytes: `frazil.onnx.load` gives a model or a ValueError.

Run by tools/fuzz.py under Atheris, which watches the Python code of frazil; test_targets.py
replays the corpus. Half of the changes are made to messages, so that they stay models.
"""

import contextlib
import random
import sys

import onnx

NUMBERS = (-1, 0, 1, 2, 3, 7, 8, 64, 65, 255, 1 << 31, (1 << 32) - 1, 1 << 34, 1 << 62, -(1 << 63))


def try_one(data):
    import frazil.onnx  # here: main() has it watched

    with contextlib.suppress(ValueError):
        frazil.onnx.load(bytes(data))


def messages(message):
    """A message and all within."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                yield from messages(part)


def change(model, pick):
    """One field of one message: another number, a name from elsewhere, a part less or more."""
    every = list(messages(model))
    message = pick.choice(every)
    field = pick.choice(message.DESCRIPTOR.fields)
    name = field.name
    if field.is_repeated:
        values = getattr(message, name)
        if len(values) and pick.random() < 0.5:
            del values[pick.randrange(len(values))]
        elif field.type == field.TYPE_MESSAGE:
            alike = [m for m in every if m.DESCRIPTOR is field.message_type]
            if alike:
                copy = type(pick.choice(alike)).FromString(pick.choice(alike).SerializeToString())
                values.insert(pick.randint(0, len(values)), copy)
        else:
            values.append(scalar(field, every, pick))
    elif field.type == field.TYPE_MESSAGE:
        message.ClearField(name)
    else:
        setattr(message, name, scalar(field, every, pick))


def scalar(field, every, pick):
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
        texts = [
            value
            for m in every
            for f, many in m.ListFields()
            if f.type == field.type
            for value in (many if f.is_repeated else [many])
        ]
        return pick.choice([*texts, field.default_value or type(field.default_value)()])
    if field.type == field.TYPE_ENUM:
        return pick.choice(field.enum_type.values).number
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return pick.choice((0.0, -1.0, 1e30, float("nan"), float("inf")))
    number = pick.choice(NUMBERS)
    return number if field.type == field.TYPE_INT64 else number % (1 << 31)


def mutated(data, most, seed):
    import atheris

    pick = random.Random(seed)
    model = onnx.ModelProto()
    try:
        if pick.random() < 0.5:
            raise ValueError
        model.ParseFromString(bytes(data))
        for _ in range(pick.randint(1, 3)):
            change(model, pick)
        return model.SerializeToString()[:most]
    except Exception:  # no model: of protobuf's parser or of its fields
        return atheris.Mutate(bytes(data), most)


def main():
    import atheris

    with atheris.instrument_imports(include=["frazil.onnx"]):
        import frazil.onnx  # noqa: F401
    atheris.Setup(sys.argv, try_one, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
