#include "device.hpp"
