package wire

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/kube/health/script"
	"github.com/rollout-ladder/ladder/internal/kube/ignore"
)

// LuaQuestion is a script to run, or only to compile.
type LuaQuestion struct {
	Name   string         `json:"name"`
	Text   string         `json:"text"`
	Object map[string]any `json:"object,omitempty"`
	Now    time.Time      `json:"now"`
	Check  bool           `json:"check,omitempty"`
}

// AtAnyTime is the question without its time: no script is taken to end only at another time.
func (q LuaQuestion) AtAnyTime() any {
	q.Now = time.Time{}
	return q
}

// CELQuestion is an expression to evaluate, for every value where Certain is set, or only
// to compile.
type CELQuestion struct {
	Expression string `json:"expression"`
	Variable   string `json:"variable"`
	Value      any    `json:"value,omitempty"`
	Check      bool   `json:"check,omitempty"`
	Certain    bool   `json:"certain,omitempty"`
}

// CELAnswer says whether an expression holds, and why not.
type CELAnswer struct {
	Holds  bool   `json:"holds"`
	Reason string `json:"reason,omitempty"`
}

// ArgoCMAnswer are the health scripts of an argocd-cm.
type ArgoCMAnswer struct {
	Scripts  []script.Script  `json:"scripts"`
	Problems []script.Problem `json:"problems"`
}

// MatchQuestion asks which script is for a kind.
type MatchQuestion struct {
	Scripts []script.Script `json:"scripts"` // without their text
	Group   string          `json:"group"`
	Kind    string          `json:"kind"`
}

// TranslateQuestion is an expression to say in Lua.
type TranslateQuestion struct {
	Expression string `json:"expression"`
}

// IgnoringQuestion asks which rules are about a kind.
type IgnoringQuestion struct {
	Rules []ignore.Rule `json:"rules"` // without their expressions
	Group string        `json:"group"`
	Kind  string        `json:"kind"`
}

// WithoutQuestion has jq expressions and the object that they take something out of.
type WithoutQuestion struct {
	Expressions []string       `json:"expressions"`
	Object      map[string]any `json:"object"`
}
