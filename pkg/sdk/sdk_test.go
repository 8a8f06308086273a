package sdk_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestC207_ThreeSendersAreAnsweredInOrder(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			scripted.Text("one"), scripted.End(message.StopEnd),
			scripted.Text("two"), scripted.End(message.StopEnd),
			scripted.Text("three"), scripted.End(message.StopEnd))
		k.attach()
		var senders sync.WaitGroup
		for i := range 3 {
			senders.Go(func() { k.send(fmt.Sprint("hello ", i), "", "") })
		}
		senders.Wait()
		if _, idle := k.wait().(api.Idle); !idle {
			t.Fatal("not idle")
		}
		said := k.said()
		if len(said) != 6 {
			t.Fatalf("said %q", said)
		}
		for i, want := range []string{"one", "two", "three"} {
			if said[2*i+1] != "assistant: "+want {
				t.Errorf("said %q", said)
			}
		}
	})
}

func TestC199_SingleStepsLandAnswerAndIdle(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("hi"), scripted.End(message.StopEnd))
		k.send("hello", "", "")
		var got []string
		for range 3 {
			o, err := k.host.Step(k.ctx, api.HeadOptions{SessionID: k.id})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%T", o))
		}
		if diff := cmp.Diff([]string{"api.Continue", "api.Finished", "api.Idle"}, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"user: hello", "assistant: hi"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC210_AQuestionParksTheRunAndOneReplyWins(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			scripted.Call("q", "ask", `{"title":"Which?","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}`),
			scripted.End(message.StopToolUse),
			scripted.Text("thanks"), scripted.End(message.StopEnd))
		k.attach()
		k.send("ask me", "", "")
		if o, waiting := k.wait().(api.Waiting); !waiting {
			t.Fatalf("outcome %#v", o)
		}
		parked := k.snapshot().Parked
		if len(parked) != 1 || parked[0].Selection == nil || parked[0].Selection.Title != "Which?" {
			t.Fatalf("parked %+v", parked)
		}
		reply := func(wait object.OID, json string) api.ReplyOutcome {
			o, err := k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: "q", WaitID: wait, Reply: []byte(json)})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		if o := reply(object.Hash([]byte("stale")), `{"picked":["a"]}`); o != (api.NotWaiting{}) {
			t.Errorf("a stale wait id answers %#v", o)
		}
		if _, err := k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: "q", WaitID: parked[0].WaitID, Reply: []byte(`{"picked":["z"]}`)}); err == nil {
			t.Error("a choice that is not offered was accepted")
		}
		if o := reply(parked[0].WaitID, `{"picked":["b"]}`); o != (api.Signalled{}) {
			t.Errorf("the reply answers %#v", o)
		}
		if _, idle := k.wait().(api.Idle); !idle {
			t.Fatal("not idle")
		}
		if o := reply(parked[0].WaitID, `{"picked":["b"]}`); o != (api.NotFound{}) {
			t.Errorf("after settlement a reply answers %#v", o)
		}
		if diff := cmp.Diff([]string{"user: ask me", "tool: ask", "assistant: thanks"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}
