package wake

import (
	"fmt"
	"strings"
)

// A Path is one of the ways in which a head is woken. Each can be switched off: the others make up for it.
type Path string

// The paths. See the package comment.
const (
	Queue    Path = "queue"
	Stream   Path = "stream"
	Schedule Path = "schedule"
	Watchdog Path = "watchdog"
	Sweep    Path = "sweep"
)

// Paths is a set of them.
type Paths map[Path]bool

// ParsePaths reads names separated by commas.
func ParsePaths(s string) (Paths, error) {
	set := make(Paths)
	for name := range strings.SplitSeq(s, ",") {
		switch p := Path(strings.TrimSpace(name)); p {
		case "":
		case Queue, Stream, Schedule, Watchdog, Sweep:
			set[p] = true
		default:
			return nil, fmt.Errorf("has %q; want some of queue, stream, schedule, watchdog, sweep, with commas", name)
		}
	}
	return set, nil
}
