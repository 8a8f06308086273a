package serverless

import (
	"context"
	"encoding/json" //nolint:depguard // the types of the events are made for it
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/internal/wake"
)

func TestLoad(t *testing.T) {
	t.Setenv(EnvStore, "dynamodb://table?bucket=bodies")
	t.Setenv(EnvStepsQueue, "https://queue")
	t.Setenv(EnvAudience, "web, phone")
	t.Setenv(EnvWakeOff, "stream,sweep")
	c, err := Load(EnvStepsQueue)
	if err != nil {
		t.Fatal(err)
	}
	if c.Store.Table != "table" || !slices.Equal(c.Audiences, []string{"web", "phone"}) || !c.Off[wake.Stream] || c.Off[wake.Queue] || c.Steps != 1 || c.LeaseTTL != 30*time.Second {
		t.Errorf("read %+v", c)
	}
	for name, tc := range map[string]struct{ variable, value, says string }{
		"no store":         {EnvStore, "", EnvStore},
		"a file":           {EnvStore, "stepwell.db", "dynamodb://TABLE"},
		"a missing queue":  {EnvStepsQueue, "", EnvStepsQueue + " is not set"},
		"no steps":         {EnvSteps, "0", "from 1 to 1000"},
		"a lease too long": {EnvLeaseTTL, "1h", "from 1s to 10m"},
		"an unknown path":  {EnvWakeOff, "queue,luck", "watchdog"},
		"a loud log":       {EnvLogLevel, "loud", "debug, info"},
		"an unknown model": {"STEPWELL_MODEL", "gpt", "provider/model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tc.variable, tc.value)
			if _, err := Load(EnvStepsQueue); err == nil || !strings.Contains(err.Error(), tc.variable) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %s and %q", err, tc.variable, tc.says)
			}
		})
	}
}

func testApp() *app {
	return &app{log: slog.New(slog.DiscardHandler), now: func() time.Time { return time.UnixMilli(1000) }}
}

func TestTrigger(t *testing.T) {
	for payload, want := range map[string]string{
		`{"Records":[{"eventSource":"aws:sqs","body":"{}"}]}`: fromSQS,
		`{"Records":[{"eventSource":"aws:dynamodb"}]}`:        fromStream,
		`{"sweep":true}`: "sweep",
		`{"tenant":"acme","session":"s","head":"main"}`:                 "message",
		`{"version":"2.0","requestContext":{"http":{"method":"POST"}}}`: "http",
		`{"detail-type":"Scheduled Event"}`:                             "",
		`{}`:                                                            "",
	} {
		var tr trigger
		if err := json.Unmarshal([]byte(payload), &tr); err != nil || tr.source() != want {
			t.Errorf("%s is %q, %v; want %q", payload, tr.source(), err, want)
		}
	}
}

// A message that fails is delivered again, alone; one that nobody of ours sent is dropped.
func TestMessages(t *testing.T) {
	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "1", Body: `{"tenant":"acme","session":"good"}`},
		{MessageId: "2", Body: `{"tenant":"acme","session":"bad"}`},
		{MessageId: "3", Body: `{"tenant":"acme","session":"../../etc"}`},
		{MessageId: "4", Body: `forged`},
		{MessageId: "5", Body: `{"tenant":"acme","session":"good","head":"side","more":1}`},
	}}
	payload, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	var met []string
	out, err := testApp().messages(t.Context(), payload, func(_ context.Context, m wake.Message) error {
		met = append(met, string(m.Session)+"/"+m.Head)
		if m.Session == "bad" {
			return errors.New("the store is away")
		}
		return nil
	})
	if err != nil || !slices.Equal(met, []string{"good/", "bad/", "good/side"}) {
		t.Errorf("met %q, %v", met, err)
	}
	if len(out.BatchItemFailures) != 1 || out.BatchItemFailures[0].ItemIdentifier != "2" {
		t.Errorf("failed are %+v, want message 2", out.BatchItemFailures)
	}
}

// image is a control item as the stream has it.
func image(wakeAt, heldUntil int) string {
	lease := `"o":{"M":{}},"x":{"M":{}},"g":{"M":{}},"y":{"M":{}}`
	if heldUntil > 0 {
		lease = fmt.Sprintf(`"o":{"M":{"refs/heads/main":{"S":"me"}}},"x":{"M":{"refs/heads/main":{"N":"%d"}}},"g":{"M":{"refs/heads/main":{"N":"1"}}},"y":{"M":{"refs/heads/main":{"S":"-"}}}`, heldUntil)
	}
	mark := ""
	if wakeAt > 0 {
		mark = fmt.Sprintf(`"w":{"N":"%d"},"v":{"S":"W#1"},`, wakeAt)
	}
	return `{` + mark + `"n":{"N":"7"},"f":{"N":"0"},"c":{"N":"1"},"k":{"N":"1"},"m":{"N":"0"},"t":{"L":[{"B":"AAE="}]},` + lease + `}`
}

func record(number, partition, sort, newImage string) string {
	img := ""
	if newImage != "" {
		img = `,"NewImage":` + newImage
	}
	return `{"eventSource":"aws:dynamodb","dynamodb":{"SequenceNumber":"` + number + `","Keys":{"p":{"S":"` + partition + `"},"s":{"S":"` + sort + `"}}` + img + `}}`
}

// Of a batch, each session is looked at once that is marked as of its last record and that nobody holds; a failure names the record to come back to.
func TestStream(t *testing.T) {
	payload := []byte(`{"Records":[` + strings.Join([]string{
		record("1", "S#acme#idle#x", "A", image(0, 0)),
		record("2", "S#acme#due#x", "A", image(900, 0)),
		record("3", "S#acme#held#x", "A", image(900, 5000)),
		record("4", "S#acme#later#x", "A", image(5000, 0)),
		record("5", "S#acme#settled#x", "A", image(900, 0)),
		record("6", "S#acme#due#x", "O#abc", `{"b":{"B":"AAE="}}`),
		record("7", "T#acme", "N#due", `{"i":{"S":"x"}}`),
		record("8", "S#acme#settled#x", "A", image(0, 0)),
		record("9", "S#a%2Fb#expired#x", "A", image(900, 999)),
		record("10", "S#acme#due#x", "A", image(900, 0)),
		record("11", "S#acme#gone#x", "A", ""),
	}, ",") + `]}`)
	var met []string
	look := func(_ context.Context, m wake.Message) error {
		met = append(met, m.Tenant+"/"+string(m.Session))
		return nil
	}
	out, err := testApp().stream(t.Context(), payload, look)
	if err != nil || len(out.BatchItemFailures) != 0 || !slices.Equal(met, []string{"acme/due", "a/b/expired"}) {
		t.Errorf("looked at %q, %+v, %v", met, out, err)
	}
	out, err = testApp().stream(t.Context(), payload, func(_ context.Context, m wake.Message) error {
		if m.Session == "expired" {
			return errors.New("the store is away")
		}
		return nil
	})
	if err != nil || len(out.BatchItemFailures) != 1 || out.BatchItemFailures[0].ItemIdentifier != "9" {
		t.Errorf("failed are %+v, %v; want record 9", out, err)
	}
}

// A sink is a bus that may be down.
type sink struct {
	heard []string
	down  error
}

func (s *sink) Put(_ context.Context, events []eventbus.Event) (int, error) {
	if s.down != nil {
		return 0, s.down
	}
	for _, e := range events {
		s.heard = append(s.heard, string(e.Type)+" "+e.Subject)
	}
	return len(events), nil
}

// named gives a record the name of what happened to its item.
func named(name, record string) string {
	return `{"eventName":"` + name + `",` + record[1:]
}

// Heads are woken before anything is told, whether the bus is there or not; what was not told makes the stream come back, and what cannot be read does not.
func TestStream_outward(t *testing.T) {
	old := strings.Replace(image(0, 0), `"n":{"N":"7"}`, `"n":{"N":"6"}`, 1)
	payload := []byte(`{"Records":[` + strings.Join([]string{
		record("1", "S#acme#due#x", "A", image(900, 0)), // of what happened it does not say
		named("MODIFY", record("2", "S#acme#odd#x", "A", `{"n":{"S":"seven"}}`)),
		named("MODIFY", strings.Replace(record("3", "S#acme#odder#x", "A", image(900, 0)), `,"NewImage"`, `,"OldImage":`+old+`,"NewImage"`, 1)), // its tail is malformed
		named("MODIFY", record("4", "S#acme#half#x", "A", image(0, 0))),                                                                         // without an image from before
		named("MODIFY", strings.Replace(record("5", "S#acme#mark#x", "A", image(0, 0)), `,"NewImage"`, `,"OldImage":`+image(900, 0)+`,"NewImage"`, 1)),
		named("REMOVE", record("6", "S#acme#gone#x", "O#abc", "")),
		named("REMOVE", record("7", "S#acme#gone#x", "A", "")),
		named("REMOVE", record("8", "S#acme#left#x", "A", "")),
	}, ",") + `]}`)
	const woken = "acme/due acme/odder"
	var met []string
	look := func(_ context.Context, m wake.Message) error {
		met = append(met, m.Tenant+"/"+string(m.Session))
		return nil
	}
	a := testApp()
	s := &sink{}
	a.publisher = &eventbus.Publisher{Sink: s, Logger: a.log, Open: func(context.Context, eventbus.Origin) (eventbus.Session, error) {
		t.Error("a session was opened for what tells of no event")
		return nil, eventbus.ErrGone
	}}
	out, err := a.stream(t.Context(), payload, look)
	if err != nil || len(out.BatchItemFailures) != 0 || strings.Join(met, " ") != woken {
		t.Errorf("looked at %q, %+v, %v", met, out, err)
	}
	if want := "dev.stepwell.session.deleted sessions/gone,dev.stepwell.session.deleted sessions/left"; strings.Join(s.heard, ",") != want {
		t.Errorf("told %q, want %s", s.heard, want)
	}

	met, s.down = nil, errors.New("the bus is down")
	out, err = a.stream(t.Context(), payload, look)
	if err != nil || len(out.BatchItemFailures) != 1 || out.BatchItemFailures[0].ItemIdentifier != "7" || strings.Join(met, " ") != woken {
		t.Errorf("without a bus looked at %q, %+v, %v; want record 7", met, out, err)
	}
	s.heard, s.down = nil, nil
	out, err = a.stream(t.Context(), payload, nil) // the path is off
	if err != nil || len(out.BatchItemFailures) != 0 || len(s.heard) != 2 {
		t.Errorf("without waking told %q, %+v, %v", s.heard, out, err)
	}
	out, err = a.stream(t.Context(), payload, func(_ context.Context, m wake.Message) error { return errors.New("the table is away") })
	var back []string
	for _, f := range out.BatchItemFailures {
		back = append(back, f.ItemIdentifier)
	}
	if err != nil || !slices.Equal(back, []string{"1", "3"}) || len(s.heard) != 4 {
		t.Errorf("without a table told %q, come back to %q, %v", s.heard, back, err)
	}
}
