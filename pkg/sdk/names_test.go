package sdk_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// Field report B30: nothing picks a session by itself, and no store is asked about one that is not named.
func TestB30_EveryOperationNamesItsSession(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		oid := object.Hash([]byte("x"))
		host, f, _ := k.faulty()
		for name, err := range refusals(k, host, "", oid) {
			if !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s without a session: %v", name, err)
			}
		}
		if calls := f.Calls(); len(calls) != 0 {
			t.Errorf("the store was asked: %v", calls)
		}
	})
}

// Field report B89: names that mean something to a file system or to an address are refused before anything is read, with the field.
func TestB89_NamesThatLookLikePathsAreRefused(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		host, f, _ := k.faulty()
		for _, id := range []string{"..", "../x", "/etc/passwd", "a/b", "%2e%2e", "a#b", "\u2215", "a\x00", strings.Repeat("x", 4096)} {
			for name, err := range refusals(k, host, api.SessionID(id), object.Hash([]byte("x"))) {
				if !errors.Is(err, api.ErrInvalid) {
					t.Errorf("%s of session %.20q: %v", name, id, err)
				}
			}
		}
		if calls := f.Calls(); len(calls) != 0 {
			t.Errorf("the store was asked: %v", calls)
		}
		k.writesNothing("refused names", func() {
			for _, name := range []string{"..", "../x", "a/b", "a\x00b", "a b", "\xff", strings.Repeat("x", 4096)} {
				_, send := k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Head: name, Content: api.Text("x")})
				_, lane := k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Lane: name, Content: api.Text("x")})
				_, head := k.host.CreateHead(k.ctx, api.CreateHeadOptions{SessionID: k.id, Head: name, Parent: "main"})
				_, step := k.host.Step(k.ctx, api.HeadOptions{SessionID: k.id, Head: name})
				for op, err := range map[string]error{"send to a head": send, "send to a lane": lane, "create a head": head, "step": step} {
					if !errors.Is(err, api.ErrInvalid) && !errors.Is(err, api.ErrHeadNotFound) {
						t.Errorf("%s %.20q: %v", op, name, err)
					}
				}
			}
		})
	})
}

// refusals calls every operation on a session and returns the errors.
func refusals(k *kit, h *sdk.Stepwell, id api.SessionID, oid object.OID) map[string]error {
	errs := make(map[string]error)
	head, ctx := api.HeadOptions{SessionID: id}, k.ctx
	session := api.SessionOptions{SessionID: id}
	_, errs["GetSession"] = h.GetSession(ctx, session)
	errs["RenameSession"] = h.RenameSession(ctx, api.RenameSessionOptions{SessionID: id, Name: "x"})
	errs["SetPinned"] = h.SetPinned(ctx, api.FlagSessionOptions{SessionID: id, On: true})
	errs["SetArchived"] = h.SetArchived(ctx, api.FlagSessionOptions{SessionID: id, On: true})
	errs["DeleteSession"] = h.DeleteSession(ctx, api.DeleteSessionOptions{SessionID: id})
	_, errs["Configure"] = h.Configure(ctx, api.ConfigureOptions{SessionID: id, ThinkingLevel: "low"})
	_, errs["Snapshot"] = h.Snapshot(ctx, head)
	_, errs["Send"] = h.Send(ctx, api.SendOptions{SessionID: id, Content: api.Text("x")})
	_, errs["Cancel"] = h.Cancel(ctx, api.CancelOptions{SessionID: id, Change: oid})
	_, errs["Redeliver"] = h.Redeliver(ctx, api.RedeliverOptions{SessionID: id, Change: oid, End: true})
	_, errs["ListMessages"] = h.ListMessages(ctx, api.TranscriptOptions{SessionID: id})
	_, errs["Pending"] = h.Pending(ctx, head)
	_, errs["CurrentRun"] = h.CurrentRun(ctx, head)
	_, errs["Abort"] = h.Abort(ctx, api.AbortOptions{SessionID: id})
	_, errs["WaitRun"] = h.WaitRun(ctx, head)
	_, errs["Reply"] = h.Reply(ctx, api.ReplyOptions{SessionID: id, CallID: "c", WaitID: oid, Reply: []byte(`1`)})
	_, errs["Context"] = h.Context(ctx, head)
	_, errs["RunChanges"] = h.RunChanges(ctx, api.RunChangesOptions{SessionID: id, RunID: "r"})
	_, errs["Usage"] = h.Usage(ctx, head)
	_, errs["ListHeads"] = h.ListHeads(ctx, session)
	_, errs["CreateHead"] = h.CreateHead(ctx, api.CreateHeadOptions{SessionID: id, Head: "x", Parent: "main"})
	_, errs["MoveHead"] = h.MoveHead(ctx, api.MoveHeadOptions{SessionID: id, To: api.At(oid)})
	_, errs["DeleteHead"] = h.DeleteHead(ctx, api.DeleteHeadOptions{SessionID: id, Head: "x"})
	_, errs["MergeHead"] = h.MergeHead(ctx, api.MergeHeadOptions{SessionID: id, Head: "x"})
	_, errs["AdvanceBase"] = h.AdvanceBase(ctx, api.AdvanceBaseOptions{SessionID: id, Head: "x"})
	_, errs["Step"] = h.Step(ctx, head)
	_, errs["Refs"] = h.Refs(ctx, api.RefsOptions{SessionID: id})
	_, errs["Reflog"] = h.Reflog(ctx, api.ReflogOptions{SessionID: id})
	_, errs["Object"] = h.Object(ctx, api.ObjectOptions{SessionID: id, OID: oid})
	_, errs["Tree"] = h.Tree(ctx, head)
	_, errs["Fsck"] = h.Fsck(ctx, session)
	_, errs["Trim"] = h.Trim(ctx, api.TrimOptions{SessionID: id})
	_, errs["Collect"] = h.Collect(ctx, api.CollectOptions{SessionID: id})
	for _, err := range h.Watch(ctx, api.WatchOptions{SessionID: id}) {
		errs["Watch"] = err
		break
	}
	return errs
}

// The same operations on a session that is not there are told apart from bad names, and write nothing either.
func TestC185_OperationsOnAMissingSessionSaySo(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		host, f, _ := k.faulty()
		for name, err := range refusals(k, host, "ses_none", object.Hash([]byte("x"))) {
			if name == "DeleteSession" && err == nil {
				continue
			}
			if !errors.Is(err, api.ErrSessionNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, c := range f.Calls() {
			if c.Op.Writes() && c.Op != storetest.OpDeleteSession {
				t.Errorf("written: %s", c)
			}
		}
	})
}

func TestC206_AttachingToASessionThatIsNotThereSaysSo(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		err := k.host.Attach(k.ctx, sdk.AttachOptions{Sessions: []api.SessionID{k.id, "none"}})
		if !errors.Is(err, api.ErrSessionNotFound) || !strings.Contains(err.Error(), "none") {
			t.Errorf("got %v, want an error that names the session", err)
		}
	})
}
