package argocd

import (
	"cmp"
	"os"
	"strings"
)

// unknownRevision stands for the commit that is rolled out, which the work tree has
// not got yet.
const unknownRevision = "0000000000000000000000000000000000000000"

// withVariables is a text of a source with the variables of Argo CD's build environment
// filled in. Any other $NAME is empty, as in Argo CD; a ${NAME} stays, because other
// tools fill those in before Argo CD sees them. Source: Argo CD, "Build Environment",
// reposerver/repository, newEnv.
func withVariables(text string, d document, s source) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return os.Expand(text, func(name string) string {
		switch name {
		case "$":
			return "$"
		case "ARGOCD_APP_NAME":
			return d.name()
		case "ARGOCD_APP_NAMESPACE":
			return d.value.TextAt("spec", "destination", "namespace")
		case "ARGOCD_APP_PROJECT_NAME":
			return cmp.Or(d.value.TextAt("spec", "project"), "default")
		case "ARGOCD_APP_REVISION":
			return unknownRevision
		case "ARGOCD_APP_REVISION_SHORT":
			return unknownRevision[:7]
		case "ARGOCD_APP_REVISION_SHORT_8":
			return unknownRevision[:8]
		case "ARGOCD_APP_SOURCE_REPO_URL":
			return s.repoURL()
		case "ARGOCD_APP_SOURCE_PATH":
			return s.path()
		case "ARGOCD_APP_SOURCE_TARGET_REVISION":
			return s.value.TextAt("targetRevision")
		}
		if strings.Contains(text, "${"+name+"}") {
			return "${" + name + "}"
		}
		return ""
	})
}

// allWithVariables fills in the values of a map.
func allWithVariables(values map[string]string, d document, s source) map[string]string {
	for key, value := range values {
		values[key] = withVariables(value, d, s)
	}
	return values
}
