// Package ref names the refs of a session: which families there are, how a name is built from its parts, and which names
// are valid. Every variable part that a client or a provider chooses is percent-encoded, so that no string can break or
// forge a name.
//
//	refs/heads/<head>               branch tip; absence means unborn
//	refs/stacks/<head>              stack: parent head and base
//	refs/queues/<head>/<lane>/tip   newest submitted change of the lane
//	refs/queues/<head>/<lane>/base  last landed change; pending is (base, tip]
//	refs/runs/<head>                current run
//	refs/effects/<run>/<call>       state of one tool call
//	refs/keys/<key>                 idempotency receipt: the change first submitted under the key
//	refs/facts/<key>                a small session value
//	refs/cancelled/<change>         tombstone of a withdrawn change
//	refs/deleted                    marks a session being deleted
package ref

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A Name is a full ref name.
type Name string

// Deleted marks a session that is being deleted.
const Deleted Name = "refs/deleted"

// The prefixes of the families, for listing.
const (
	Heads     = "refs/heads/"
	Stacks    = "refs/stacks/"
	Queues    = "refs/queues/"
	Runs      = "refs/runs/"
	Effects   = "refs/effects/"
	Keys      = "refs/keys/"
	Facts     = "refs/facts/"
	Cancelled = "refs/cancelled/"
)

// Head returns the ref of a head's tip. It is also the name of the head's lease.
func Head(head string) Name { return Name(Heads + head) }

// Stack returns the ref of a head's stack.
func Stack(head string) Name { return Name(Stacks + head) }

// Run returns the ref of a head's run.
func Run(head string) Name { return Name(Runs + head) }

// QueueTip returns the ref of a lane's newest change.
func QueueTip(head, lane string) Name { return Name(Queues + head + "/" + lane + "/tip") }

// QueueBase returns the ref of a lane's last landed change.
func QueueBase(head, lane string) Name { return Name(Queues + head + "/" + lane + "/base") }

// HeadQueues returns the prefix of all queue refs of one head.
func HeadQueues(head string) string { return Queues + head + "/" }

// Effect returns the ref of one tool call of a run.
func Effect(run, call string) Name { return Name(RunEffects(run) + Escape(call)) }

// RunEffects returns the prefix of all effect refs of one run.
func RunEffects(run string) string { return Effects + Escape(run) + "/" }

// Key returns the ref of an idempotency receipt.
func Key(key string) Name { return Name(Keys + Escape(key)) }

// Fact returns the ref of a session fact. A slash in the key makes a namespace, as a plugin's prefix does; each component
// is encoded on its own.
func Fact(key string) Name {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		parts[i] = Escape(p)
	}
	return Name(Facts + strings.Join(parts, "/"))
}

// Tombstone returns the ref that marks a change as cancelled.
func Tombstone(change object.OID) Name { return Name(Cancelled + change.String()) }

// ErrBadName reports a ref, head or lane name that is not valid.
var ErrBadName = errors.New("invalid name")

// MaxLength is the longest ref name, in bytes.
const MaxLength = 1024

// MaxComponent is the longest head or lane name, in bytes.
const MaxComponent = 200

// Check reports why n is not a valid ref name, or nil.
func (n Name) Check() error {
	s := string(n)
	switch {
	case s == "":
		return fmt.Errorf("%w: ref name is empty", ErrBadName)
	case len(s) > MaxLength:
		return fmt.Errorf("%w: ref name has %d bytes, the limit is %d", ErrBadName, len(s), MaxLength)
	}
	for part := range strings.SplitSeq(s, "/") {
		if err := checkComponent(part); err != nil {
			return fmt.Errorf("%w: ref %q: %w", ErrBadName, s, err)
		}
	}
	return nil
}

// CheckHead reports why head is not a valid head name, or nil. A head is one component of a ref name.
func CheckHead(head string) error { return checkSingle("head", head) }

// CheckLane reports why lane is not a valid lane name, or nil. A lane is one component of a ref name.
func CheckLane(lane string) error { return checkSingle("lane", lane) }

func checkSingle(what, s string) error {
	if strings.Contains(s, "/") {
		return fmt.Errorf("%w: %s %q contains a slash", ErrBadName, what, s)
	}
	if len(s) > MaxComponent {
		return fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrBadName, what, len(s), MaxComponent)
	}
	if err := checkComponent(s); err != nil {
		return fmt.Errorf("%w: %s %q: %w", ErrBadName, what, s, err)
	}
	return nil
}
