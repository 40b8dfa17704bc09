package installation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// The ConfigMaps of an installation.
const (
	Settings   = string(settings)
	Parameters = string(parameters)
	Policies   = string(policies)
)

// secretParameter matches the parameters that may hold a secret, such as otlp.headers.
var secretParameter = lazyregexp.New(`(?i)passw|token|secret|credential|headers|private`)

// Public reports whether the value of a key of one of the ConfigMaps is no secret. It
// knows the keys that are not: what is not known may be one, as dex.config,
// oidc.config and the repositories of old versions are. Source: argo-cd,
// docs/operator-manual, argocd-cm.yaml, argocd-cmd-params-cm.yaml, argocd-rbac-cm.yaml.
func Public(configMap, key, value string) bool {
	switch home(configMap) {
	case settings:
		belongs, known := belongs(key)
		public := []string{"application.", "cluster.inClusterEnabled", "server.rbac.", "timeout.", "installationID", "url"}
		return known && belongs == settings || isSetting(key) ||
			slices.ContainsFunc(public, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	case parameters:
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return isParameter(key)
		}
		if _, err := strconv.ParseBool(value); err == nil {
			return isParameter(key)
		}
		return isParameter(key) && !secretParameter.MatchString(key)
	case policies:
		return strings.HasPrefix(key, "policy.") || key == "scopes"
	case anywhere, nowhere, mapped:
	}
	return false
}

// Arguments are those arguments of a process of Argo CD that are settings, each with
// its value in one word.
func Arguments(words []string) []string {
	var found []string
	for i, word := range words {
		flag, _, written := strings.Cut(word, "=")
		switch flag {
		case progressiveFlag, globbingFlag:
			found = append(found, word)
		case watchedFlag, syncTimeoutFlag:
			if !written && i+1 < len(words) {
				word += "=" + words[i+1]
			}
			found = append(found, word)
		}
	}
	return found
}

// IsVariable reports whether a variable of a process of Argo CD is a setting.
func IsVariable(name string) bool {
	return name == progressiveVariable || name == globbingVariable || name == watchedVariable || name == syncTimeoutVariable
}

// Snapshot takes the documents of a snapshot: all that the installation has.
func (r *Reader) Snapshot(values []*yamldoc.Value) {
	r.Read(values)
	if len(values) > 0 {
		r.whole(values[0].Position, false)
	}
}
