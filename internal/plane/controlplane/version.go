package controlplane

import (
	"runtime/debug"
	"strings"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
)

// kubernetesModule is the module whose version is the version of the plane.
const kubernetesModule = "k8s.io/kubernetes"

// fallbackVersion is used when the binary carries no module information
// (-buildvcs and module data stripped by an unusual build).
const fallbackVersion = "v1.36.3"

// kubernetesVersion is the version of Kubernetes that is compiled in, such as
// "v1.36.3". Official builds stamp it with linker flags; this binary knows the
// version of the module it was built from.
func kubernetesVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return fallbackVersion
	}
	for _, m := range info.Deps {
		if m.Path != kubernetesModule {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if strings.HasPrefix(m.Version, "v1.") {
			return m.Version
		}
	}
	return fallbackVersion
}

// stampedVersion is an effective version that names the compiled-in Kubernetes
// release where an unstamped build would say "v0.0.0-master+$Format:%H$", which
// clients cannot parse.
type stampedVersion struct {
	compatibility.EffectiveVersion
}

// Info implements compatibility.EffectiveVersion; /version answers it.
func (v stampedVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	if info == nil {
		return nil
	}
	info.GitVersion = kubernetesVersion()
	info.GitCommit = ""
	info.GitTreeState = "clean"
	return info
}
