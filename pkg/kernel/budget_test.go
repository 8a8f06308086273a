package kernel_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// The writes of a step and the calls of a submission and of a reply are counted: they are what a durable step costs on any store.
func TestBudgets(t *testing.T) {
	k := kerneltest.New(t, kerneltest.Memory)
	p := k.Process()
	calls := func(do func()) (all, writes []storetest.Op) {
		before := len(p.Calls())
		do()
		for _, c := range p.Calls()[before:] {
			if all = append(all, c.Op); c.Op.Writes() {
				writes = append(writes, c.Op)
			}
		}
		return all, writes
	}
	all, _ := calls(func() {
		must(p.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: kerneltest.Steer, Body: k.User("hello"), Key: "k"}))(t)
	})
	if diff := cmp.Diff([]storetest.Op{storetest.OpReadRefs, storetest.OpUpdateRefs}, all); diff != "" {
		t.Errorf("a submission makes other calls than one read and one write: %s", diff)
	}
	const acquire, publish, stream, release = storetest.OpAcquireLease, storetest.OpUpdateRefs, storetest.OpAppendEvents, storetest.OpReleaseLease
	for _, step := range []struct {
		name string
		want []storetest.Op
	}{
		{"land", []storetest.Op{acquire, publish}},
		{"respond", []storetest.Op{acquire, stream, publish}}, // the answer streams a few words
	} {
		_, writes := calls(func() { must(p.Step(k.Ctx, k.Options()))(t) })
		if diff := cmp.Diff(step.want, writes); diff != "" {
			t.Errorf("the step %q writes more than its lease, its stream and its publish: %s", step.name, diff)
		}
	}
	k.Send(kerneltest.Steer, "again")
	_, writes := calls(func() { must(p.Drive(k.Ctx, k.Options()))(t) })
	if diff := cmp.Diff([]storetest.Op{acquire, publish, stream, publish, release}, writes); diff != "" {
		t.Errorf("a drive writes more than its lease and one publish a step: %s", diff)
	}
	k.Script.Toolbox = asking()
	k.Send(kerneltest.Steer, "use ask")
	k.Settle()
	wait := k.Effects()[0]
	all, _ = calls(func() {
		must(p.Signal(k.Ctx, kernel.SignalOptions{
			RunID: wait.Intent.RunID, CallID: "ask", WaitID: wait.OID, Signal: jsontext.Value(`{"picked":["yes"]}`),
		}))(t)
	})
	if slices.Sort(all); !slices.Equal(all, []storetest.Op{storetest.OpGetObject, storetest.OpReadRefs, storetest.OpUpdateRefs}) {
		t.Errorf("a reply makes other calls than two reads at once and a write: %v", all)
	}
}
