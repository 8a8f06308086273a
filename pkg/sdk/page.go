package sdk

import (
	"context"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// ListMessages returns a page of the transcript, read backwards from the tip or from a commit. Pages are cut where a turn begins or between
// turns, so that none is split; a page is longer than its limit only when the markers within one turn do not fit.
func (s *Stepwell) ListMessages(ctx context.Context, opts api.TranscriptOptions) (api.TranscriptPage, error) {
	if err := opts.Validate(); err != nil {
		return api.TranscriptPage{}, err
	}
	session, err := s.reading(ctx, api.HeadOptions{SessionID: opts.SessionID, Head: opts.Head})
	if err != nil {
		return api.TranscriptPage{}, err
	}
	tip, err := pageTip(ctx, session, head(opts.Head), opts.Before)
	if err != nil {
		return api.TranscriptPage{}, err
	}
	limit := opts.Limit
	if limit == 0 {
		limit = api.DefaultPage
	}
	// A turn is usually a few commits. Read more until there is a place to cut.
	for want := 8 * (limit + 1); ; want *= 4 {
		commits, err := view.Branch(ctx, session, tip, want)
		if err != nil {
			return api.TranscriptPage{}, fault(err)
		}
		whole := len(commits) < want
		items := view.TranscriptOf(commits).Items
		start, ok := pageStart(commits, items, limit, whole)
		if !ok {
			continue
		}
		page := api.TranscriptPage{HasMore: start > 0 || !whole, Items: transcriptItems(items[start:])}
		if page.HasMore {
			page.Next = view.ItemID(items[start])
		}
		return page, nil
	}
}

// pageStart returns the first item of a page of about limit items, the newest ones. ok is false when items, which begin in the middle of the
// branch unless they are whole, have no place to cut.
func pageStart(commits []view.Commit, items []view.TranscriptItem, limit int, whole bool) (start int, ok bool) {
	first := len(items) - limit
	if first <= 0 {
		return 0, whole
	}
	inside := insideTurns(commits)
	cut := func(i int) bool {
		if i == 0 && whole {
			return true
		}
		turn, ok := items[i].(view.Turn)
		if !ok {
			return !inside[view.ItemID(items[i])]
		}
		_, begins := turn.Parts[0].(view.UserPart)
		return begins
	}
	for i := first; i < len(items); i++ {
		if cut(i) {
			return i, true
		}
	}
	for i := first - 1; i >= 0; i-- {
		if cut(i) {
			return i, true
		}
	}
	return 0, false
}

// insideTurns returns the commits that the answer to an earlier message goes on after.
func insideTurns(commits []view.Commit) map[object.OID]bool {
	inside := make(map[object.OID]bool)
	goesOn := false
	for _, c := range slices.Backward(commits) {
		if body, ok := c.Commit.Body.(object.MessageBody); ok {
			switch m := body.Message.(type) {
			case message.User:
				goesOn = goesOn && message.Blank(m.Content) // a blank message begins no turn
			case message.Assistant, message.ToolResult:
				goesOn = true
			}
		}
		if goesOn {
			inside[c.OID] = true
		}
	}
	return inside
}

// pageTip returns the commit that a page ends with.
func pageTip(ctx context.Context, session *kernel.Session, name string, before object.OID) (object.OID, error) {
	if before.IsZero() {
		tip, err := session.ReadRefs(ctx, ref.Head(name))
		if err != nil {
			return object.OID{}, fault(err)
		}
		return tip[0], nil
	}
	o, _, err := session.GetObject(ctx, before)
	if err != nil {
		return object.OID{}, fault(err)
	}
	commit, ok := o.(object.Commit)
	if !ok {
		return object.OID{}, api.Invalid("/before", "names no commit of this session")
	}
	return commit.Parent, nil
}
