// Everything public of Weft.
#pragma once

#include "weft/array.hpp"
#include "weft/error.hpp"
#include "weft/extents.hpp"
#include "weft/layout.hpp"
#include "weft/options.hpp"
#include "weft/plan.hpp"
#include "weft/session.hpp"
#include "weft/timeline.hpp"
