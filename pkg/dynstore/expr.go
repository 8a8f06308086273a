package dynstore

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// An expr collects the parts of one conditional update.
type expr struct {
	conditions []string
	sets       []string
	removes    []string
	names      map[string]string
	values     item
}

func (e *expr) value(v types.AttributeValue) string {
	if e.values == nil {
		e.values = item{}
	}
	name := fmt.Sprintf(":v%d", len(e.values))
	e.values[name] = v
	return name
}

// attr returns a placeholder for an attribute of any name, some of which are reserved words.
func (e *expr) attr(name string) string {
	if e.names == nil {
		e.names = map[string]string{}
	}
	for placeholder, n := range e.names {
		if n == name {
			return placeholder
		}
	}
	placeholder := fmt.Sprintf("#a%d", len(e.names))
	e.names[placeholder] = name
	return placeholder
}

// of returns the path of a lease's part.
func (e *expr) of(attr string, name ref.Name) string {
	return e.attr(attr) + "." + e.attr(string(name))
}

func (e *expr) set(path string, v types.AttributeValue) {
	e.sets = append(e.sets, path+" = "+e.value(v))
}

func (e *expr) expect(path string, v types.AttributeValue) {
	e.conditions = append(e.conditions, path+" = "+e.value(v))
}

func (e *expr) exists() {
	e.conditions = append(e.conditions, "attribute_exists("+e.attr(attrPartition)+")")
}

func (e *expr) absent() {
	e.conditions = append(e.conditions, "attribute_not_exists("+e.attr(attrPartition)+")")
}

// held expects l to be the newest grant of its name and not released.
func (e *expr) held(l store.Lease) {
	e.expect(e.of(attrOwner, l.Name), text(l.Owner))
	e.expect(e.of(attrFence, l.Name), number(l.Fence))
}

func (e *expr) renew(name ref.Name, until store.Millis) {
	e.set(e.of(attrExpiry, name), number(until))
}

// release gives l back. The id tells this release from others of the same lease, of which one at most succeeds.
func (e *expr) release(l store.Lease, id string) {
	for _, attr := range []string{attrOwner, attrExpiry, attrFence, attrPrevious} {
		e.removes = append(e.removes, e.of(attr, l.Name))
	}
	e.set(e.attr(attrReleased), text(l.Owner+id))
}

// wake says when somebody should look at the session; zero: nobody need.
func (e *expr) wake(partition string, at store.Millis) {
	if at == 0 {
		e.removes = append(e.removes, e.attr(attrWake), e.attr(attrWakeList))
		return
	}
	e.set(e.attr(attrWake), number(at))
	e.set(e.attr(attrWakeList), text(wakeList(partition)))
}

func (e *expr) condition() *string {
	if len(e.conditions) == 0 {
		return nil
	}
	s := strings.Join(e.conditions, " AND ")
	return &s
}

func (e *expr) update() *string {
	var parts []string
	if len(e.sets) > 0 {
		parts = append(parts, "SET "+strings.Join(e.sets, ", "))
	}
	if len(e.removes) > 0 {
		parts = append(parts, "REMOVE "+strings.Join(e.removes, ", "))
	}
	if len(parts) == 0 {
		return nil
	}
	s := strings.Join(parts, " ")
	return &s
}
