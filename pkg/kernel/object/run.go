package object

// A Run is one head being advanced. Each phase change writes a new Run; its ID stays. Observers read the inputs of a
// response from Config; their own defaults say nothing about it.
type Run struct {
	ID             string `json:"id"`
	Head           string `json:"head"` // a head name, not a ref name
	Phase          Phase  `json:"phase"`
	StartedAt      Millis `json:"startedAt"`
	Attempts       int    `json:"attempts"` // responses attempted so far; a streaming delta carries Attempts+1
	Config         Config `json:"config"`
	AbortRequested bool   `json:"abortRequested,omitzero"` // set by a participant
}

// A Phase is where a run stands: [Respond], [Tools], [WaitingPhase], [Retry], [Done], [Aborted] or [Failed].
//
//sumtype:decl
type Phase interface{ phase() }

func (Respond) phase()      {}
func (Tools) phase()        {}
func (WaitingPhase) phase() {}
func (Retry) phase()        {}
func (Done) phase()         {}
func (Aborted) phase()      {}
func (Failed) phase()       {}

type (
	// Respond means that the next step may land a boundary change, then asks the model.
	Respond struct{}
	// Tools means that the tip is an assistant message whose calls must be recovered or executed.
	Tools struct{}
	// WaitingPhase means that at least one effect is parked.
	WaitingPhase struct{}
	// Retry follows a transient provider failure: resume at At. Retries counts consecutive ones.
	Retry struct {
		At      Millis `json:"at"`
		Retries int    `json:"retries"`
		Error   string `json:"error"`
	}
	// Done means that the last message has its answer.
	Done struct{}
	// Aborted means that a participant stopped the run, or moved its head away.
	Aborted struct{}
	// Failed means that the run ended with an error.
	Failed struct {
		Error string       `json:"error"`
		Class FailureClass `json:"class"`
	}
)

// A FailureClass says what failed a run.
type FailureClass string

// The failure classes.
const (
	FailedProvider FailureClass = "provider"
	FailedTool     FailureClass = "tool"
	FailedCeiling  FailureClass = "ceiling"
	FailedRunner   FailureClass = "runner"
	FailedCorrupt  FailureClass = "corrupt"
)

// Valid reports whether c is one of the listed classes.
func (c FailureClass) Valid() bool {
	switch c {
	case FailedProvider, FailedTool, FailedCeiling, FailedRunner, FailedCorrupt:
		return true
	}
	return false
}

// Terminal reports whether p ends a run.
func Terminal(p Phase) bool {
	switch p.(type) {
	case Done, Aborted, Failed:
		return true
	case Respond, Tools, WaitingPhase, Retry:
		return false
	}
	panic("unreachable")
}

// PhaseName returns the wire word of p.
func PhaseName(p Phase) string {
	switch p.(type) {
	case Respond:
		return "respond"
	case Tools:
		return "tools"
	case WaitingPhase:
		return "waiting"
	case Retry:
		return "retry"
	case Done:
		return "done"
	case Aborted:
		return "aborted"
	case Failed:
		return "failed"
	}
	panic("unreachable")
}
