package installation

import (
	"bytes"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
)

// home is the ConfigMap that a setting belongs to, or stands in.
type home string

const (
	anywhere   home = "" // where it stands is not told
	settings   home = "argocd-cm"
	parameters home = "argocd-cmd-params-cm"
	policies   home = "argocd-rbac-cm"
	nowhere    home = "a field that the ArgoCD resource does not have"
	mapped     home = "a map among the values of the ConfigMap, which the chart argo-cd writes as one text"
)

// homeOf is the ConfigMap of a name; that of another name may be renamed.
func homeOf(name string) home {
	switch h := home(name); h {
	case settings, parameters, policies:
		return h
	default:
		return anywhere
	}
}

// Keys of argocd-cm. Source: argo-cd, util/settings.
const (
	customizations = "resource.customizations"
	healthPrefix   = customizations + ".health."
	ignoredPrefix  = customizations + ".ignoreDifferences."
	exclusionsKey  = argo.ExclusionsKey
	inclusionsKey  = "resource.inclusions"
	buildKey       = "kustomize.buildOptions"
	pathPrefix     = "kustomize.path."
	versionPrefix  = "kustomize.version."
	globalKey      = "globalProjects"
)

// Switches are written as a key of argocd-cmd-params-cm, as a variable of the
// ApplicationSet controller, or as its flag. Source: argo-cd,
// cmd/argocd-applicationset-controller.
const (
	progressiveKey      = argo.ProgressiveSyncsKey
	progressiveVariable = "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS"
	progressiveFlag     = "--enable-progressive-syncs"
	globbingKey         = "applicationsetcontroller.enable.new.git.file.globbing"
	globbingVariable    = "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_NEW_GIT_FILE_GLOBBING"
	globbingFlag        = "--enable-new-git-file-globbing"
)

// The namespaces in which Argo CD takes Applications, apart from its own, are written
// as a switch is.
const (
	watchedKey      = "application.namespaces"
	watchedVariable = "ARGOCD_APPLICATION_NAMESPACES"
	watchedFlag     = "--application-namespaces"
)

// How long a sync runs is a key of argocd-cmd-params-cm, a variable of the application
// controller, or its flag. Other programs have such a flag too, so that it counts only in a
// file with another mark of Argo CD. Source: argo-cd, cmd/argocd-application-controller.
const (
	syncTimeoutKey      = "controller.sync.timeout.seconds"
	syncTimeoutVariable = "ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT"
	syncTimeoutFlag     = "--sync-timeout"
)

const (
	chartName    = "argo-cd"
	operatorKind = "ArgoCD"
	argoGroup    = "argoproj.io/"
)

// marks are what a file says of the installation has at least one of.
func marks() []string {
	return []string{
		string(settings), // argocd-cmd-params-cm begins with it
		customizations, chartName, globalKey, argo.TrackingMethodKey, argo.InstanceLabelKey, progressiveKey, progressiveVariable, progressiveFlag, globbingKey, globbingVariable, globbingFlag,
		watchedKey, watchedVariable, watchedFlag, syncTimeoutKey, syncTimeoutVariable, exclusionsKey, inclusionsKey, buildKey, "kustomizeBuildOptions", pathPrefix, versionPrefix, "kind: " + operatorKind, `"kind": "` + operatorKind, "argoproj/argo-cd", "kind: ConfigManagementPlugin",
	}
}

// Mentions reports whether a text may say something of the installation.
func Mentions(text []byte) bool {
	for _, mark := range marks() {
		if bytes.Contains(text, []byte(mark)) {
			return true
		}
	}
	return false
}

// belongs is the home of a key, and whether it is one that is read here.
func belongs(key string) (h home, known bool) {
	switch {
	case key == progressiveKey, key == globbingKey, key == watchedKey, key == syncTimeoutKey:
		return parameters, true
	case key == customizations, strings.HasPrefix(key, healthPrefix), strings.HasPrefix(key, ignoredPrefix),
		key == exclusionsKey, key == inclusionsKey, key == buildKey, strings.HasPrefix(key, buildKey+"."),
		strings.HasPrefix(key, pathPrefix), strings.HasPrefix(key, versionPrefix), key == globalKey,
		key == argo.TrackingMethodKey, key == argo.InstanceLabelKey:
		return settings, true
	}
	return anywhere, false
}

// isParameter reports whether a key is one of argocd-cmd-params-cm, isSetting whether
// it is one of argocd-cm, as far as their first words tell.
func isParameter(key string) bool {
	for _, prefix := range []string{"server.", "controller.", "applicationsetcontroller.", "reposerver.", "notificationscontroller.", "dexserver.", "otlp.", "redis."} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return key == watchedKey
}

func isSetting(key string) bool {
	for _, prefix := range []string{"resource.", "kustomize.", "timeout.reconciliation", "admin.enabled", "exec.enabled", "statusbadge.", "application."} {
		if strings.HasPrefix(key, prefix) {
			return key != watchedKey
		}
	}
	return key == argo.InstallationIDKey
}
