package httpapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// Field report B58: a message of any size up to the limit is taken, answered and read back whole. A larger one is refused as too large, and
// nothing is written.
func TestB58_MessagesUpToTheLimitAreTaken(t *testing.T) {
	accepted := []int{256<<10 - 1, 256 << 10, 399 << 10, 401 << 10, api.MaxText}
	var steps []scripted.Step
	for range accepted {
		steps = append(steps, scripted.Text("ok"), scripted.End(message.StopEnd))
	}
	ctx, c, host := serve(t, nil, steps...)
	if err := host.Attach(ctx, sdk.AttachOptions{}); err != nil {
		t.Fatal(err)
	}
	seq := func() int64 {
		t.Helper()
		snap, err := c.Snapshot(ctx, api.HeadOptions{SessionID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return snap.Seq
	}
	direct := httpapi.New(host, nil)
	for size, want := range map[int]struct {
		status       int
		code, member string
	}{
		api.MaxText + 1: {422, "validation", "#/content"},
		7 << 20:         {413, "payload-too-large", ""},
	} {
		before := seq()
		text := strings.Repeat("x", size)
		_, err := c.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text(text), Key: fmt.Sprint(size)})
		if !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%d bytes: %v", size, err)
		}
		// The client has asked nothing. Another one may.
		wantProblem(t, call(t, direct, "POST", messages, fmt.Sprintf(`{"content":%q,"key":"%d"}`, text, size)), want.status, want.code, want.member)
		if after := seq(); after != before {
			t.Errorf("%d bytes: the stream grew from %d to %d", size, before, after)
		}
	}
	for _, size := range accepted {
		text := strings.Repeat("x", size)
		o := api.SendOptions{SessionID: "s", Content: api.Text(text), Key: fmt.Sprint(size)}
		if _, ok := send(ctx, t, c, o).(api.Queued); !ok {
			t.Errorf("%d bytes are not queued", size)
		}
		if out, err := c.WaitRun(ctx, api.HeadOptions{SessionID: "s"}); err != nil || out != (api.Idle{}) {
			t.Fatalf("%d bytes: %#v %v", size, out, err)
		}
		page, err := c.ListMessages(ctx, api.TranscriptOptions{SessionID: "s", Limit: 1})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%d bytes: %d items, %v", size, len(page.Items), err)
		}
		var got []string
		for _, p := range page.Items[0].(api.Turn).Parts {
			switch p := p.(type) {
			case api.UserPart:
				if message.PlainText(p.Content) != text {
					t.Errorf("%d bytes: the message came back changed", size)
				}
				got = append(got, "user")
			case api.AssistantPart:
				got = append(got, p.Text)
			case api.ToolPart, api.NotePart, api.ThinkingPart:
			}
		}
		if diff := cmp.Diff([]string{"user", "ok"}, got); diff != "" {
			t.Errorf("%d bytes: %s", size, diff)
		}
	}
}
