package dynstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// The attributes of the control item.
const (
	attrSeq      = "n"
	attrFloor    = "f"
	attrCreated  = "c"
	attrFences   = "k" // how many leases were ever granted
	attrTail     = "t"
	attrBuckets  = "m" // the ref buckets that are stored
	attrOwner    = "o" // maps by lease name
	attrExpiry   = "x"
	attrFence    = "g"
	attrPrevious = "y" // the owner before, or nobody
	attrWake     = "w" // when somebody should look at the session, absent when nobody need
	attrWakeList = "v" // the list of the index in which it is found then
	attrReleased = "z" // owner of the lease that was released last and an id of the release; no map
)

// nobody stands for no owner: DynamoDB's expressions have no absent value.
const nobody = "-"

// A control is a session's control item. It is a value: what is shared is never changed in place.
type control struct {
	seq     store.Seq
	floor   store.Seq
	created store.Millis
	fences  int64
	buckets bucketSet
	leases  map[ref.Name]grant
	wake    store.Millis // zero: nobody need look
	release string       // owner and id of the newest release
	tail    [][]byte     // encoded batches; the last event of the last one is seq
}

// A grant is the newest lease of a name that was not released.
type grant struct {
	owner    string
	fence    int64
	expires  store.Millis
	previous string
}

func (g grant) lease(name ref.Name) store.Lease {
	return store.Lease{Name: name, Owner: g.owner, Fence: g.fence, ExpiresAt: g.expires}
}

// holds reports whether l is the newest grant of its name and not released. Expiry is not looked at: nobody has taken it since.
func (c *control) holds(l store.Lease) bool {
	g, ok := c.leases[l.Name]
	return ok && g.owner == l.Owner && g.fence == l.Fence
}

func (c *control) item(p string) item {
	it := key(p, controlKey)
	owners, expiries, fences, previous := item{}, item{}, item{}, item{}
	for name, g := range c.leases {
		n := string(name)
		owners[n], expiries[n], fences[n], previous[n] = text(g.owner), number(g.expires), number(g.fence), text(g.previous)
	}
	it[attrSeq], it[attrFloor], it[attrCreated] = number(c.seq), number(c.floor), number(c.created)
	it[attrFences], it[attrBuckets] = number(c.fences), number(int64(c.buckets)) //nolint:gosec // bits, whatever they spell
	it[attrTail] = list(c.tail)
	if c.release != "" {
		it[attrReleased] = text(c.release)
	}
	if c.wake != 0 {
		it[attrWake], it[attrWakeList] = number(c.wake), text(wakeList(p))
	}
	for name, m := range map[string]item{attrOwner: owners, attrExpiry: expiries, attrFence: fences, attrPrevious: previous} {
		it[name] = &types.AttributeValueMemberM{Value: m}
	}
	return it
}

func list(batches [][]byte) types.AttributeValue {
	l := &types.AttributeValueMemberL{Value: make([]types.AttributeValue, len(batches))}
	for i, b := range batches {
		l.Value[i] = binaryValue(b)
	}
	return l
}

var errControl = errors.New("the stored control item is malformed")

func decodeControl(it item) (*control, error) {
	c := &control{}
	var seq, floor, created, buckets int64
	for name, v := range map[string]*int64{
		attrSeq: &seq, attrFloor: &floor, attrCreated: &created, attrFences: &c.fences, attrBuckets: &buckets,
	} {
		n, err := intOf(it, name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errControl, err)
		}
		*v = n
	}
	c.seq, c.floor, c.created = store.Seq(seq), store.Seq(floor), store.Millis(created)
	c.release = textOf(it, attrReleased)
	wake, err := optionalInt(it, attrWake)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errControl, err)
	}
	c.wake = store.Millis(wake)
	c.buckets = bucketSet(buckets) //nolint:gosec // bits, whatever they spell
	tail, ok := it[attrTail].(*types.AttributeValueMemberL)
	if !ok {
		return nil, fmt.Errorf("%w: it has no tail", errControl)
	}
	for _, v := range tail.Value {
		b, ok := v.(*types.AttributeValueMemberB)
		if !ok {
			return nil, fmt.Errorf("%w: its tail has something else than bytes", errControl)
		}
		c.tail = append(c.tail, b.Value)
	}
	owners, ok := it[attrOwner].(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("%w: it has no leases", errControl)
	}
	c.leases = make(map[ref.Name]grant, len(owners.Value))
	for name := range owners.Value {
		g, err := decodeGrant(it, name)
		if err != nil {
			return nil, fmt.Errorf("%w: lease %q: %w", errControl, name, err)
		}
		c.leases[ref.Name(name)] = g
	}
	return c, nil
}

func decodeGrant(it item, name string) (grant, error) {
	part := func(attr string) item {
		if m, ok := it[attr].(*types.AttributeValueMemberM); ok {
			return m.Value
		}
		return nil
	}
	expires, err := intOf(part(attrExpiry), name)
	if err != nil {
		return grant{}, err
	}
	fence, err := intOf(part(attrFence), name)
	if err != nil {
		return grant{}, err
	}
	return grant{
		owner: textOf(part(attrOwner), name), fence: fence, expires: store.Millis(expires),
		previous: textOf(part(attrPrevious), name),
	}, nil
}

// full reports whether the tail must be packed: whether it makes the control item cost more than it would with the least tail. A tail that fits
// into a write unit that is paid anyway is free.
func (c *control) full(p string) bool {
	bare := *c
	bare.tail = nil
	room := (sizeOf(bare.item(p))+minTail)/writeUnit + 1
	return sizeOf(c.item(p)) > room*writeUnit
}

// with returns c with the lease of name changed, or removed when g is nil.
func (c *control) with(name ref.Name, g *grant) *control {
	next := *c
	next.leases = maps.Clone(c.leases)
	if g == nil {
		delete(next.leases, name)
	} else {
		next.leases[name] = *g
	}
	return &next
}

// appended returns c with a batch of n events at the end of its tail.
func (c *control) appended(batch []byte, n int) *control {
	next := *c
	next.seq += store.Seq(n)
	next.tail = append(slices.Clip(c.tail), batch)
	return &next
}

// packed returns c after n events went into packs together with the tail.
func (c *control) packed(n int) *control {
	next := *c
	next.seq += store.Seq(n)
	next.tail = nil
	return &next
}
