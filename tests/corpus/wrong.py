DECORATORS = []
def traced_of(fn):
    return getattr(fn, "__func__", fn)
