package smokejob

import (
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The file of checks: its key in the ConfigMap, and where the pod has it.
const (
	Key   = "checks.yaml"
	mount = "/checks"
)

const (
	checksFlag = "--checks"
	waitFlag   = "--wait"
)

// Args are what the command ladder is given: repeat the checks in the file until
// all hold, for so long at most.
func Args(wait time.Duration) []string {
	return []string{"smoke", checksFlag, path.Join(mount, Key), "--in-cluster", waitFlag, wait.String()}
}

// Run is what a pod of a smoke Job runs.
type Run struct {
	// ConfigMap and Key hold the file of checks, in the namespace of the pod.
	ConfigMap, Key string
	// Wait is how long the checks are repeated before the pod fails.
	Wait time.Duration
}

// Runs tells what a pod runs; ok is false for a pod that is none of a smoke Job.
// What the pod would run decides, not a mark on it.
func Runs(pod *corev1.PodSpec) (run Run, ok bool) {
	for i := range pod.Containers {
		c := &pod.Containers[i]
		args := append(append([]string{}, c.Command...), c.Args...)
		if len(args) > 0 && path.Base(args[0]) == "ladder" {
			args = args[1:]
		}
		if len(args) == 0 || args[0] != "smoke" {
			continue
		}
		file := valueOf(args, checksFlag)
		for _, m := range c.VolumeMounts {
			key, below := within(m.MountPath, file)
			if !below {
				continue
			}
			for _, v := range pod.Volumes {
				if v.Name == m.Name && v.ConfigMap != nil {
					wait, _ := time.ParseDuration(valueOf(args, waitFlag))
					return Run{ConfigMap: v.ConfigMap.Name, Key: key, Wait: wait}, true
				}
			}
		}
	}
	return Run{}, false
}

// within returns the name of a file in a folder.
func within(folder, file string) (name string, ok bool) {
	if file == "" || path.Dir(file) != path.Clean(folder) {
		return "", false
	}
	return path.Base(file), true
}

func valueOf(args []string, flag string) string {
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
