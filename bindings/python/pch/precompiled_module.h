// core/pch/precompiled.h for the extension module.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/pch/precompiled.h"
