// Loops of any length in programs. `while err > tol: x = step(x)` is written down as what one call
// did: so many times the same calls, each time with a read of the condition. FoldLoop makes one call
// of them (CallRecord::loop), which stands for any number of iterations: the plan tests the
// condition itself, and a script does not grow with the lengths that its calls meet.
//
// Why that is right. At each read of a bool a mark notes the *state* of the program: where it is and
// all that it can reach, but for what its tensors hold (StateObserver). From equal states, equal data
// and an equal number read it does the same: that is what a pure or proved function is. So where
// the state of an earlier read comes again behind the same outcome, what lies between is a function
// from the tensors of the state to those of the next one, and so it will be the next time. Python
// numbers, lists that grow, iterators that advance are part of the state: a loop that changes one is
// none here, and stays a tree of outcomes. So is one whose tensors change shape, or keep history for
// gradients.
//
// Which tensor of the state a call takes is not written down, only which value it was, and several
// may have held that. What fits all iterations counts; if that is not one thing, or several that
// are the same in each iteration by what the body does, the loop stays as it is.
//
// Branches within the body (`if err < tol: accept`) are computed both, and what they leave selected:
// of small states only. Where one has not been seen yet, or leaves the loop (break), an iteration that
// would take it is not counted: the loop ends before it, and the calls behind go on from there. A
// loop inside of such a body is no loop here.
//
// Programs that are saved (fz.export) are run way by way (frozen/run.cc): there a state may be of any
// size, loops stand in loops, and an iteration that would take a way that is not known is an error.
// One iteration is enough, where only one thing fits what it takes.
//
// Called by tracer/promise. Invariants: the first test stands before the call, as the mark that it
// was, and the last one behind it: of the number that the head of the loop reads next, which asks for
// another iteration where one went another way. A loop's results are its states behind the last
// iteration that counts, and that number.
#pragma once

#include <memory>

#include "tracer/script.h"

namespace frazil::tracer {

struct WhileLoop {
  // What an iteration does up to a read. Results are numbered along the way from the root on;
  // parameters are those of the body.
  struct Way {
    std::vector<Program::Call> calls;
    // Of programs that are saved: marks of indices that are looked at, `at` calls of the way before.
    std::vector<Mark> checks;
    ValueId read = kNoValue;
    // At the end of an iteration, behind which `read` is tested:
    std::vector<ValueId> next;     // of each state; else
    std::unique_ptr<Way> ways[2];  // by outcome; null: not known
    bool ends() const { return !ways[0] && !ways[1]; }
  };
  Way root;
  bool goes_on = true;  // the outcome that asks for another iteration
  // Of each tensor of the state the first that has always held the same; -1: it never changed.
  std::vector<int32_t> classes;
  std::vector<int32_t> places;  // of the body's first parameters: which of those they are
  // The body as one program (CallRecord::body): its first parameters are the states, its outputs
  // what they become, what the head reads next and whether there is another iteration. Of a
  // program that is saved it has no calls.
  Program body;
  int32_t states() const { return static_cast<int32_t>(body.outputs.size()) - 2; }
};

bool HasLoops(const Program& program);

// The same call with one loop, or one more, in the place of its iterations. Null: there is none.
std::shared_ptr<const LearntCall> FoldLoop(const LearntCall& learnt, bool saved = false);

}  // namespace frazil::tracer
