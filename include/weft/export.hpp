// Marks the symbols that the shared library shows; everything else is hidden.
#pragma once

#define WEFT_API __attribute__((visibility("default")))
