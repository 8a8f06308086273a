package sdk_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// Field report B22: a client whose answer was lost says the same again: at once, from another device, after it has landed, and after its run.
func TestB22_ARepeatedSendIsADuplicateForEver(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		first, ok := k.send("hi", sdk.QueueLane, "k1").(api.Queued)
		if !ok {
			t.Fatal("the first send is not queued")
		}
		device := k.newHost(e.option)
		again := func(when string) {
			t.Helper()
			k.writesNothing(when, func() {
				for _, h := range []*sdk.Stepwell{k.host, device, k.host} {
					o := do[api.SendReceipt](k)(h.Send(k.ctx, api.SendOptions{SessionID: k.id, Lane: sdk.QueueLane, Content: api.Text("hi"), Key: "k1"}))
					if o != api.Duplicate(first) {
						t.Errorf("%s: %#v", when, o)
					}
				}
			})
		}
		again("while pending")
		k.step()
		again("when landed")
		k.settle()
		again("after its run")
		k.send("more", "", "")
		k.settle()
		k.trim(int64(k.mark().seq))
		do[api.CollectReport](k)(k.host.Collect(k.ctx, api.CollectOptions{SessionID: k.id}))
		again("after a collection")
		if diff := cmp.Diff([]string{"user: hi", "assistant: re: hi", "user: more", "assistant: re: more"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC204_AKeyBelongsToWhatItWasFirstUsedFor(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		content := api.Content{message.Text{Text: "look"}, message.Image{MIMEType: "image/png", Data: "AAAA"}}
		send := func(c api.Content) (api.SendReceipt, error) {
			return k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: c, Key: "k"})
		}
		configure := func(level, key string) (api.ConfigureOutcome, error) {
			return k.host.Configure(k.ctx, api.ConfigureOptions{SessionID: k.id, ThinkingLevel: level, Key: key})
		}
		first := change(do[api.SendReceipt](k)(send(content)))
		config := change(do[api.ConfigureOutcome](k)(configure("high", "c")))
		k.writesNothing("keys that were used", func() {
			if o := do[api.SendReceipt](k)(send(content)); o != (api.Duplicate{Change: first}) {
				t.Errorf("the same content: %#v", o)
			}
			if o := do[api.ConfigureOutcome](k)(configure("high", "c")); o != (api.Queued{Change: config}) {
				t.Errorf("the same configuration: %#v", o)
			}
			for name, other := range map[string]api.Content{
				"other text": {message.Text{Text: "listen"}, content[1]}, "another order": {content[1], content[0]}, "less": content[:1],
			} {
				if o, err := send(other); o != nil || !errors.Is(err, api.ErrKeyReused) {
					t.Errorf("%s: %#v, %v", name, o, err)
				}
			}
			if o, err := configure("low", "c"); o != nil || !errors.Is(err, api.ErrKeyReused) {
				t.Errorf("other configuration: %#v, %v", o, err)
			}
			if o, err := configure("high", "k"); o != nil || !errors.Is(err, api.ErrKeyReused) {
				t.Errorf("configuration under a message's key: %#v, %v", o, err)
			}
			if o, err := k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: content, Key: "c"}); o != nil || !errors.Is(err, api.ErrKeyReused) {
				t.Errorf("a message under a configuration's key: %#v, %v", o, err)
			}
		})
		// An edit keeps the key, and the key what it was first used for.
		edited := change(do[api.RedeliverOutcome](k)(k.host.Redeliver(k.ctx, api.RedeliverOptions{SessionID: k.id, Change: first, Content: api.Text("edited")})))
		if p := do[[]api.PendingItem](k)(k.host.Pending(k.ctx, k.head())); len(p) != 1 || p[0].Change != edited || p[0].Key != "k" {
			t.Errorf("pending %+v", p)
		}
		if o := do[api.SendReceipt](k)(send(content)); o != (api.Duplicate{Change: first}) {
			t.Errorf("the first content after the edit: %#v", o)
		}
	})
}

func TestC207_WhatNoHostWouldLandIsRefusedAndNothingIsWritten(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		pending := change(k.send("pending", "", ""))
		config := change(do[api.ConfigureOutcome](k)(k.host.Configure(k.ctx, api.ConfigureOptions{SessionID: k.id, ThinkingLevel: "low"})))
		send := func(o api.SendOptions) func() (any, error) {
			return func() (any, error) {
				o.SessionID = k.id
				if o.Content == nil {
					o.Content = api.Text("x")
				}
				return k.host.Send(k.ctx, o)
			}
		}
		configure := func(o api.ConfigureOptions) func() (any, error) {
			return func() (any, error) { o.SessionID = k.id; return k.host.Configure(k.ctx, o) }
		}
		redeliver := func(o api.RedeliverOptions) func() (any, error) {
			return func() (any, error) { o.SessionID = k.id; return k.host.Redeliver(k.ctx, o) }
		}
		none := object.Hash([]byte("none"))
		for name, test := range map[string]struct {
			call func() (any, error)
			want any // an error or an outcome
		}{
			"an unknown lane":               {send(api.SendOptions{Lane: "side"}), api.ErrInvalid},
			"an unknown head":               {send(api.SendOptions{Head: "side"}), api.ErrHeadNotFound},
			"an unknown agent":              {send(api.SendOptions{Agent: "poet"}), api.ErrInvalid},
			"nothing said":                  {send(api.SendOptions{Content: api.Content{}}), api.ErrInvalid},
			"a blank":                       {send(api.SendOptions{Content: api.Text(" \n")}), api.ErrInvalid},
			"half a character":              {send(api.SendOptions{Content: api.Text("\xff")}), api.ErrInvalid},
			"config: an unknown lane":       {configure(api.ConfigureOptions{Lane: "side", ThinkingLevel: "low"}), api.ErrInvalid},
			"config: an unknown head":       {configure(api.ConfigureOptions{Head: "side", ThinkingLevel: "low"}), api.ErrHeadNotFound},
			"config: an unknown agent":      {configure(api.ConfigureOptions{Agent: "poet"}), api.UnknownAgent{}},
			"config: an unknown model":      {configure(api.ConfigureOptions{Model: &object.Model{Provider: "scripted", ID: "none"}}), api.UnknownModel{}},
			"config: nothing":               {configure(api.ConfigureOptions{}), api.ErrInvalid},
			"redeliver: an unknown lane":    {redeliver(api.RedeliverOptions{Change: pending, Lane: "side"}), api.ErrInvalid},
			"redeliver: an unknown change":  {redeliver(api.RedeliverOptions{Change: none, End: true}), api.NotFound{}},
			"redeliver: before none":        {redeliver(api.RedeliverOptions{Change: pending, Before: none}), api.NotFound{}},
			"redeliver: on an unknown head": {redeliver(api.RedeliverOptions{Head: "side", Change: pending, End: true}), api.NotFound{}},
			"redeliver: as it is":           {redeliver(api.RedeliverOptions{Change: pending}), api.Unchanged{}},
			"redeliver: text for a choice":  {redeliver(api.RedeliverOptions{Change: config, Content: api.Text("x")}), api.ErrInvalid},
			"cancel: an unknown change": {func() (any, error) {
				return k.host.Cancel(k.ctx, api.CancelOptions{SessionID: k.id, Change: none})
			}, api.NotFound{}},
			"abort: an unknown head": {func() (any, error) {
				return k.host.Abort(k.ctx, api.AbortOptions{SessionID: k.id, Head: "side"})
			}, api.ErrHeadNotFound},
			"step: an unknown head": {func() (any, error) {
				return k.host.Step(k.ctx, api.HeadOptions{SessionID: k.id, Head: "side"})
			}, api.ErrHeadNotFound},
			"reply: no such call": {func() (any, error) {
				return k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: "../c", WaitID: none, Reply: []byte(`1`)})
			}, api.NotFound{}},
		} {
			k.writesNothing(name, func() {
				got, err := test.call()
				if want, fails := test.want.(error); fails && !errors.Is(err, want) || !fails && (err != nil || got != test.want) {
					t.Errorf("%s: %#v, %v", name, got, err)
				}
			})
		}
	})
}

// pages reads the whole transcript backwards.
func (k *kit) pages(limit int) []api.TranscriptItem {
	k.Helper()
	var all []api.TranscriptItem
	var before object.OID
	for {
		p := do[api.TranscriptPage](k)(k.host.ListMessages(k.ctx, api.TranscriptOptions{SessionID: k.id, Limit: limit, Before: before}))
		all = append(append([]api.TranscriptItem{}, p.Items...), all...)
		if !p.HasMore {
			if !p.Next.IsZero() {
				k.Errorf("the last page goes on at %s", p.Next)
			}
			return all
		}
		if len(p.Items) == 0 || p.Next == before {
			k.Fatalf("a page of limit %d before %s does not go on", limit, before)
		}
		before = p.Next
	}
}

// Field report B61, as far as it goes: a transcript is read in pages, and the pages are the transcript.
func TestB61_PagesOfThreeHundredTurnsAreTheTranscript(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		for i := range 300 {
			k.send(fmt.Sprint("message ", i), sdk.QueueLane, "")
		}
		k.attach()
		k.wait()
		want := k.snapshot().Transcript
		if len(want) != 300 {
			t.Fatalf("%d turns", len(want))
		}
		for _, limit := range []int{0, 7, 199, 200} {
			if diff := cmp.Diff(want, k.pages(limit)); diff != "" {
				t.Errorf("limit %d: %s", limit, diff)
			}
		}
	})
}

// Configuration lands between a tool's result and the next response, so that a marker stands inside a turn.
func TestC218_PagesKeepTurnsWholeAroundMarkers(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		configure := func(n int) {
			for range n {
				do[api.ConfigureOutcome](k)(k.host.Configure(k.ctx, api.ConfigureOptions{SessionID: k.id, ThinkingLevel: "high"}))
			}
		}
		configure(2)
		for turn := range 4 {
			for call := range 3 {
				k.player.Then(scripted.Text("call"), scripted.Call(fmt.Sprint("c", turn, call), "clock", `{}`), scripted.End(message.StopToolUse))
			}
			k.player.Then(scripted.Text("end"), scripted.End(message.StopEnd))
			k.send(fmt.Sprint("turn ", turn), "", "")
			for range 7 {
				k.step()
				configure(turn)
			}
			k.settle()
			configure(turn)
			k.settle()
		}
		want := k.snapshot().Transcript
		turns := 0
		for i, it := range want {
			if turn, ok := it.(api.Turn); ok {
				turns++
				if len(turn.Parts) != 1+3*2+1 {
					t.Errorf("item %d has %d parts", i, len(turn.Parts))
				}
			}
		}
		if turns != 4 || len(want) < 30 {
			t.Fatalf("%d turns in %d items", turns, len(want))
		}
		for limit := 1; limit <= len(want)+1; limit++ {
			if diff := cmp.Diff(want, k.pages(limit)); diff != "" {
				t.Errorf("limit %d: %s", limit, diff)
			}
		}
		if _, err := k.host.ListMessages(k.ctx, api.TranscriptOptions{SessionID: k.id, Before: object.Hash([]byte("none"))}); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("before nothing: %v", err)
		}
	})
}

// Field report B29: clients' clocks are wrong by minutes and days. What lands next and what is answered follow from the chain alone.
func TestB29_WrongClocksChangeNoOrder(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		var clients []*sdk.Stepwell
		for _, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute, 24 * time.Hour, -24 * time.Hour} {
			clients = append(clients, k.newHost(func(o *sdk.Options) { o.Now = func() time.Time { return time.Now().Add(skew) } }))
		}
		k.attach()
		var want []string
		const n = 100
		for i := range n {
			client := clients[(i*7+i/5)%len(clients)]
			text := fmt.Sprint("message ", i)
			do[api.SendReceipt](k)(client.Send(k.ctx, api.SendOptions{SessionID: k.id, Lane: sdk.QueueLane, Content: api.Text(text)}))
			want = append(want, "user: "+text, "assistant: re: "+text)
		}
		k.wait()
		if diff := cmp.Diff(want, k.said()); diff != "" {
			t.Error(diff)
		}
		if got := e.calls.Load(); got != n {
			t.Errorf("%d requests", got)
		}
	})
}
