package sdk_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// Two hosts with different models in one process do not mix: nothing they work with is global (invariant 22).
func TestI22_TwoHostsDoNotMix(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("from the first"), scripted.End(message.StopEnd))
		other := scripted.Play(scripted.Text("from the second"), scripted.End(message.StopEnd)).As(llm.ModelInfo{Model: llm.Model{Provider: "other", ID: "m"}})
		second := k.newHost(func(o *sdk.Options) {
			o.Models, o.DefaultModel, o.Tools = llm.NewCatalog(other), llm.Model{Provider: "other", ID: "m"}, nil
		})
		for _, host := range []*sdk.Stepwell{k.host, second} {
			k.send("hello", "", "")
			for range 2 {
				if _, err := host.Step(k.ctx, api.HeadOptions{SessionID: k.id}); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := []string{"user: hello", "assistant: from the first", "user: hello", "assistant: from the second"}
		if diff := cmp.Diff(want, k.said()); diff != "" {
			t.Error(diff)
		}
		if asked := k.player.Requests()[0]; len(asked.Tools) == 0 {
			t.Error("the first host's tools were not offered")
		}
		if asked := other.Requests()[0]; len(asked.Tools) != 0 {
			t.Errorf("the second host offers %v", asked.Tools)
		}
	})
}

// A runner keeps nothing of a session that another host removed.
func TestRunnerForgetsASessionThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memstore.New(nil), nil)
		k.broken = true
		k.attach()
		synctest.Wait()
		if got := k.host.Handles(); got != 1 {
			t.Fatalf("the runner keeps %d handles, want 1", got)
		}
		if err := k.newHost(nil).DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := k.host.Handles(); got != 0 {
			t.Errorf("the runner keeps %d handles of sessions that are gone", got)
		}
	})
}
