package stacktest_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// unused says why a function may do what the suite never sees it do. What Lambda itself does in a function's name comes first: polling, logging, and putting
// what it gave up into a dead-letter queue are not requests of the function.
func unused(function, action string) string {
	switch action {
	case "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
		"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams":
		return "Lambda polls in the function's name"
	case "logs:CreateLogStream", "logs:PutLogEvents":
		return "Lambda writes its logs"
	case "s3:ListBucket":
		return "without it S3 says forbidden where a body is missing"
	}
	return map[string]string{
		"alarm s3:GetObject":            "a large change that waits when it looks",
		"events s3:GetObject":           "a large commit in the feed",
		"submit s3:GetObject":           "a large change that a submission is judged by",
		"step dynamodb:Query":           "events that left the tail while a call was under way",
		"events dynamodb:Query":         "events that left the tail",
		"events dynamodb:BatchGetItem":  "commits in the feed",
		"collect s3:GetObject":          "large objects, when a collection follows links",
		"step s3:GetObject":             "a large message that it lands cold",
		"step dynamodb:DeleteItem":      "a ref that is removed and has an item of its own",
		"alarm dynamodb:UpdateItem":     "the mark of a session in which nothing can go on, when no step took it away",
		"step scheduler:UpdateSchedule": "a second deadline of a head whose first has not come",
	}[function+" "+action]
}

// What the functions asked for while everything was done is within what their roles allow, and what is allowed and was not asked for has a reason.
func TestRights(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	s := up(t, map[string]string{"endpointUrl": g.url})
	s.everything()
	granted := s.granted()
	for _, function := range functions {
		used := g.usedBy(function)
		var missing, idle, unexplained []string
		for _, action := range used {
			if !granted[function][action] {
				missing = append(missing, action)
			}
		}
		for _, action := range slices.Sorted(maps.Keys(granted[function])) {
			if slices.Contains(used, action) {
				continue
			}
			if idle = append(idle, action); unused(function, action) == "" {
				unexplained = append(unexplained, action)
			}
		}
		t.Logf("%s used %s; granted and not used, with a reason: %s", function, strings.Join(used, " "), strings.Join(idle, " "))
		if len(missing) > 0 {
			t.Errorf("%s used what its role does not allow: %v", function, missing)
		}
		if len(unexplained) > 0 {
			t.Errorf("%s may do what it never did, without a reason: %v", function, unexplained)
		}
		if len(used) == 0 {
			t.Errorf("%s asked for nothing", function)
		}
	}
	if used := g.usedBy(""); len(used) > 0 {
		t.Errorf("somebody without a name used %v", used)
	}
}

// everything does what participants do, with small and large messages.
func (s *stack) everything() {
	s.Helper()
	ctx := s.Context()
	c := s.as("acme", "ann")
	id := s.create(c)
	random := make([]byte, 30<<10)
	_, _ = rand.Read(random)
	for i, text := range []string{"hello", "tools", "fail", "sleep 1", "ask 3600", fmt.Sprintf("a large one: %x", random)} {
		s.send(c, id, text, fmt.Sprint("k", i))
	}
	snap := s.until(c, id, "the question", func(snap api.Snapshot) bool { return len(snap.Parked) == 1 && snap.Parked[0].Selection != nil })
	p := snap.Parked[0]
	if _, err := c.Reply(ctx, api.ReplyOptions{SessionID: id, RunID: p.RunID, CallID: p.CallID, WaitID: p.WaitID, Reply: []byte(`{"picked":["red"]}`)}); err != nil {
		s.Fatal(err)
	}
	s.idle(c, id)
	for what, err := range map[string]error{
		"rename":    c.RenameSession(ctx, api.RenameSessionOptions{SessionID: id, Name: "a name"}),
		"unname":    c.RenameSession(ctx, api.RenameSessionOptions{SessionID: id}),
		"head":      second(c.CreateHead(ctx, api.CreateHeadOptions{SessionID: id, Head: "side", Parent: "main"})),
		"list":      second(c.ListSessions(ctx, api.ListSessionsOptions{})),
		"messages":  second(c.ListMessages(ctx, api.TranscriptOptions{SessionID: id})),
		"tree":      second(c.Tree(ctx, api.HeadOptions{SessionID: id})),
		"usage":     second(c.Usage(ctx, api.HeadOptions{SessionID: id})),
		"heads":     second(c.ListHeads(ctx, api.SessionOptions{SessionID: id})),
		"configure": second(c.Configure(ctx, api.ConfigureOptions{SessionID: id, ThinkingLevel: "low"})),
	} {
		if err != nil {
			s.Errorf("%s: %v", what, err)
		}
	}
	s.invoke("alarm", `{"sweep":true}`)
	token := s.token("acme", "ann")
	s.get(fmt.Sprintf("%s/v1/sessions/%s/events?after=0", s.APIURL, id), token, "application/json")
	s.check(c, id)
	if _, err := c.DeleteHead(ctx, api.DeleteHeadOptions{SessionID: id, Head: "side"}); err != nil {
		s.Error(err)
	}
	if _, err := c.Trim(ctx, api.TrimOptions{SessionID: id, Before: snap.Seq}); err != nil {
		s.Error(err)
	}
	if _, err := c.Collect(ctx, api.CollectOptions{SessionID: id}); err != nil {
		s.Error(err)
	}
	if err := c.DeleteSession(ctx, api.DeleteSessionOptions{SessionID: id}); err != nil {
		s.Error(err)
	}
}

// granted returns the actions that the template gives each function.
func (s *stack) granted() map[string]map[string]bool {
	s.Helper()
	text, err := s.Template()
	if err != nil {
		s.Fatal(err)
	}
	type statement struct {
		Action jsontext.Value
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				Role struct {
					GetAtt []string `json:"Fn::GetAtt"`
				}
				Environment struct{ Variables map[string]jsontext.Value }
				Policies    []struct {
					PolicyDocument struct{ Statement []statement }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		s.Fatal(err)
	}
	out := map[string]map[string]bool{}
	for _, r := range template.Resources {
		var app string
		if r.Type != "AWS::Lambda::Function" || json.Unmarshal(r.Properties.Environment.Variables["AWS_SDK_UA_APP_ID"], &app) != nil || len(r.Properties.Role.GetAtt) == 0 {
			continue
		}
		function := strings.TrimPrefix(app, "stepwell-")
		out[function] = map[string]bool{}
		for _, p := range template.Resources[r.Properties.Role.GetAtt[0]].Properties.Policies {
			for _, st := range p.PolicyDocument.Statement {
				var one string
				var many []string
				if json.Unmarshal(st.Action, &one) == nil {
					many = []string{one}
				} else if err := json.Unmarshal(st.Action, &many); err != nil {
					s.Fatal(err)
				}
				for _, action := range many {
					out[function][action] = true
				}
			}
		}
	}
	return out
}
