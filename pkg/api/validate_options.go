package api

import (
	"strconv"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// pointer names a part of a message, or a member of it.
func pointer(i int, member string) string {
	p := "/content/" + strconv.Itoa(i)
	if member != "" {
		p += "/" + member
	}
	return p
}

// Validate reports the first rule that o breaks.
func (o CreateSessionOptions) Validate() error {
	if o.SessionID != "" {
		if err := o.SessionID.Check(); err != nil {
			return err
		}
	}
	return first(checkText("/name", o.Name, MaxTitle), checkKey(o.Key), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o SessionOptions) Validate() error { return o.SessionID.Check() }

// Validate reports the first rule that o breaks.
func (o HeadOptions) Validate() error { return first(o.SessionID.Check(), checkName("/head", o.Head)) }

// Validate reports the first rule that o breaks.
func (o ListSessionsOptions) Validate() error {
	return first(checkText("/owner", o.Owner, MaxKey), checkText("/cursor", o.Cursor, MaxRefPrefix), checkLimit(o.Limit))
}

// Validate reports the first rule that o breaks.
func (o RenameSessionOptions) Validate() error {
	return first(o.SessionID.Check(), checkText("/name", o.Name, MaxTitle), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o FlagSessionOptions) Validate() error { return first(o.SessionID.Check(), checkActor(o.Actor)) }

// Validate reports the first rule that o breaks.
func (o DeleteSessionOptions) Validate() error {
	return first(o.SessionID.Check(), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o ConfigureOptions) Validate() error {
	if o.Model == nil && o.ThinkingLevel == "" && o.Agent == "" {
		return Invalid("", "nothing to configure; give model, thinkingLevel or agent")
	}
	if o.Model != nil {
		if o.Model.ID == "" {
			return Invalid("/model/id", "is missing; name a model")
		}
		if err := first(checkText("/model/id", o.Model.ID, MaxName),
			checkText("/model/provider", o.Model.Provider, MaxName)); err != nil {
			return err
		}
	}
	return first(o.SessionID.Check(), checkName("/head", o.Head), checkText("/thinkingLevel", o.ThinkingLevel, MaxName),
		checkText("/agent", o.Agent, MaxName), checkName("/lane", o.Lane), checkKey(o.Key), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o SendOptions) Validate() error {
	return first(o.SessionID.Check(), checkName("/head", o.Head), checkName("/lane", o.Lane), o.Content.check(),
		checkText("/agent", o.Agent, MaxName), checkKey(o.Key), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o CancelOptions) Validate() error {
	return first(o.SessionID.Check(), checkName("/head", o.Head), checkOID("/change", o.Change), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o RedeliverOptions) Validate() error {
	if err := first(o.SessionID.Check(), checkName("/head", o.Head), checkOID("/change", o.Change),
		checkName("/lane", o.Lane), checkActor(o.Actor)); err != nil {
		return err
	}
	if o.Content != nil {
		if err := o.Content.check(); err != nil {
			return err
		}
	}
	switch {
	case !o.Before.IsZero() && o.End:
		return Invalid("/end", "and before exclude each other; give one")
	case o.Before == o.Change:
		return Invalid("/before", "is the change itself")
	}
	return nil
}

// Validate reports the first rule that o breaks.
func (o TranscriptOptions) Validate() error {
	return first(o.SessionID.Check(), checkName("/head", o.Head), checkLimit(o.Limit))
}

// Validate reports the first rule that o breaks.
func (o ReplyOptions) Validate() error {
	if err := first(o.SessionID.Check(), checkText("/runId", o.RunID, MaxID), checkText("/callId", o.CallID, MaxCallID),
		checkOID("/waitId", o.WaitID), checkActor(o.Actor)); err != nil {
		return err
	}
	switch {
	case len(o.Reply) == 0:
		return Invalid("/reply", "is missing; give any JSON value, or a selection reply")
	case len(o.Reply) > MaxReply:
		return Invalid("/reply", "has %d bytes, the limit is %d", len(o.Reply), MaxReply)
	}
	if err := object.CheckJSON(o.Reply); err != nil {
		return Invalid("/reply", "cannot be stored: %v", err)
	}
	return nil
}

// Validate reports the first rule that o breaks.
func (o AbortOptions) Validate() error {
	return first(o.SessionID.Check(), checkName("/head", o.Head), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o RunChangesOptions) Validate() error {
	if o.RunID == "" {
		return Invalid("/runId", "is missing; name a run")
	}
	return first(o.SessionID.Check(), checkName("/head", o.Head), checkText("/runId", o.RunID, MaxID))
}

// Validate reports the first rule that o breaks.
func (o CreateHeadOptions) Validate() error {
	if err := first(o.SessionID.Check(), checkNamedHead(o.Head), checkName("/parent", o.Parent),
		checkActor(o.Actor)); err != nil {
		return err
	}
	if (o.Parent == "") == o.Commit.IsZero() {
		return Invalid("/parent", "give either parent, a head to stack on, or commit")
	}
	return nil
}

// Validate reports the first rule that o breaks.
func (o MoveHeadOptions) Validate() error {
	if !o.To.Given {
		return Invalid("/to", "is missing; give a commit, or null to make the head unborn")
	}
	return first(o.SessionID.Check(), checkName("/head", o.Head), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o DeleteHeadOptions) Validate() error {
	return first(o.SessionID.Check(), checkNamedHead(o.Head), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o MergeHeadOptions) Validate() error {
	return first(o.SessionID.Check(), checkNamedHead(o.Head), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o AdvanceBaseOptions) Validate() error {
	return first(o.SessionID.Check(), checkNamedHead(o.Head), checkActor(o.Actor))
}

// Validate reports the first rule that o breaks.
func (o WatchOptions) Validate() error {
	switch {
	case o.AfterSeq != nil && o.Live:
		return Invalid("/live", "and afterSeq exclude each other; give one")
	case o.AfterSeq != nil && *o.AfterSeq < 0:
		return Invalid("/afterSeq", "is %d; a cursor is 0 or more", *o.AfterSeq)
	}
	return o.SessionID.Check()
}

// Validate reports the first rule that o breaks.
func (o RefsOptions) Validate() error {
	return first(o.SessionID.Check(), checkText("/prefix", o.Prefix, MaxRefPrefix))
}

// Validate reports the first rule that o breaks.
func (o ReflogOptions) Validate() error {
	return first(o.SessionID.Check(), checkText("/ref", o.Ref, MaxRefPrefix), checkLimit(o.Limit))
}

// Validate reports the first rule that o breaks.
func (o ObjectOptions) Validate() error { return first(o.SessionID.Check(), checkOID("/oid", o.OID)) }

// Validate reports the first rule that o breaks.
func (o TrimOptions) Validate() error {
	if o.Before < 0 {
		return Invalid("/before", "is %d; a sequence number is 0 or more", o.Before)
	}
	return o.SessionID.Check()
}

// Validate reports the first rule that o breaks.
func (o CollectOptions) Validate() error {
	if o.GraceMS < 0 {
		return Invalid("/graceMs", "is negative")
	}
	return o.SessionID.Check()
}
