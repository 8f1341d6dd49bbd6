// Expands rows of core/ops.def by their class into functions: elementwise rows and reductions have
// one form each, the others are written by hand. Called by the headers and sources that expand the
// table into functions. Invariant: the only list of the classes for that purpose, so that a new
// class is one line.
#pragma once

// FZ_BY_CLASS(klass, Elementwise, Reduction)(...) is Elementwise(...), Reduction(...) or nothing.
#define FZ_BY_CLASS(klass, elementwise, reduction) FZ_BY_CLASS_##klass(elementwise, reduction)
#define FZ_BY_CLASS_kElementwise(elementwise, reduction) elementwise
#define FZ_BY_CLASS_kReduce(elementwise, reduction) reduction
#define FZ_BY_CLASS_kCast(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kView(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kConcat(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kPad(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kTake(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kPut(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kPositions(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kSort(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kScan(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kMatmul(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kAttention(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kAttentionGrad(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kConv(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kConvWeights(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kIota(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kTransfer(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_BY_CLASS_kRandomBits(elementwise, reduction) FZ_NO_FUNCTION
#define FZ_NO_FUNCTION(...)
