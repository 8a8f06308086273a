package boot

import "github.com/stepwell-dev/stepwell/internal/boot/setting"

// A Setting is one value of a configuration and its origin.
type Setting = setting.Setting
