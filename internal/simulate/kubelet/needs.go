package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// OpenAnnotation marks a Secret whose keys nobody can know from the repository
// alone, such as one filled from a whole entry of a secret store. It holds any
// key that is asked of it.
const OpenAnnotation = "ladder.rollout-ladder.dev/open"

// Cluster is what a kubelet looks up. Look-ups return nil for what is missing.
type Cluster interface {
	Secret(namespace, name string) *corev1.Secret
	ConfigMap(namespace, name string) *corev1.ConfigMap
	Claim(namespace, name string) *corev1.PersistentVolumeClaim
}

// problem is one thing a pod or container waits for.
type problem struct {
	volume  string // the volume, for a problem of a volume
	message string // the kubelet's
	ref     world.Ref
}

// containerProblem finds the first thing that keeps a container from being
// created. Source of the messages: k8s.io/kubernetes pkg/kubelet
// (makeEnvironmentVariables in kubelet_pods.go).
func containerProblem(pod *corev1.Pod, container *corev1.Container, c Cluster) *problem {
	ns := pod.Namespace
	for _, from := range container.EnvFrom {
		switch {
		case from.ConfigMapRef != nil:
			r := from.ConfigMapRef
			if c.ConfigMap(ns, r.Name) == nil && !isTrue(r.Optional) {
				return missing(world.ConfigMaps, ns, r.Name)
			}
		case from.SecretRef != nil:
			r := from.SecretRef
			if c.Secret(ns, r.Name) == nil && !isTrue(r.Optional) {
				return missing(world.Secrets, ns, r.Name)
			}
		}
	}
	for _, env := range container.Env {
		if env.ValueFrom == nil {
			continue
		}
		switch from := env.ValueFrom; {
		case from.ConfigMapKeyRef != nil:
			r := from.ConfigMapKeyRef
			cm := c.ConfigMap(ns, r.Name)
			if isTrue(r.Optional) {
				continue
			}
			if cm == nil {
				return missing(world.ConfigMaps, ns, r.Name)
			}
			if _, ok := cm.Data[r.Key]; !ok {
				return &problem{
					message: fmt.Sprintf("couldn't find key %s in ConfigMap %s/%s", r.Key, ns, r.Name),
					ref:     world.Ref{Kind: world.ConfigMaps, Namespace: ns, Name: r.Name},
				}
			}
		case from.SecretKeyRef != nil:
			r := from.SecretKeyRef
			secret := c.Secret(ns, r.Name)
			if isTrue(r.Optional) {
				continue
			}
			if secret == nil {
				return missing(world.Secrets, ns, r.Name)
			}
			if !secretHas(secret, r.Key) {
				return &problem{
					message: fmt.Sprintf("couldn't find key %s in Secret %s/%s", r.Key, ns, r.Name),
					ref:     world.Ref{Kind: world.Secrets, Namespace: ns, Name: r.Name},
				}
			}
		}
	}
	return nil
}

func missing(kind, namespace, name string) *problem {
	words := map[string]string{world.Secrets: "secret", world.ConfigMaps: "configmap"}
	return &problem{
		message: fmt.Sprintf("%s %q not found", words[kind], name),
		ref:     world.Ref{Kind: kind, Namespace: namespace, Name: name},
	}
}

// volumeProblems finds what keeps the volumes of a pod from being mounted, in
// the order of the volumes. Only volumes that a container mounts count, as the
// kubelet waits for no others.
func volumeProblems(pod *corev1.Pod, c Cluster) []problem {
	used := mountedVolumes(pod)
	var problems []problem
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !used[v.Name] {
			continue
		}
		if p := volumeProblem(pod, v, c); p != nil {
			p.volume = v.Name
			problems = append(problems, *p)
		}
	}
	return problems
}

func mountedVolumes(pod *corev1.Pod) map[string]bool {
	used := map[string]bool{}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range list {
			for _, m := range container.VolumeMounts {
				used[m.Name] = true
			}
			for _, d := range container.VolumeDevices {
				used[d.Name] = true
			}
		}
	}
	return used
}

func volumeProblem(pod *corev1.Pod, v *corev1.Volume, c Cluster) *problem {
	switch ns := pod.Namespace; {
	case v.Secret != nil:
		return secretVolume(c, ns, v.Secret.SecretName, v.Secret.Items, isTrue(v.Secret.Optional))
	case v.ConfigMap != nil:
		return configMapVolume(c, ns, v.ConfigMap.Name, v.ConfigMap.Items, isTrue(v.ConfigMap.Optional))
	case v.PersistentVolumeClaim != nil:
		return claimVolume(c, ns, v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		return claimVolume(c, ns, pod.Name+"-"+v.Name)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			var p *problem
			switch {
			case source.Secret != nil:
				p = secretVolume(c, ns, source.Secret.Name, source.Secret.Items, isTrue(source.Secret.Optional))
			case source.ConfigMap != nil:
				p = configMapVolume(c, ns, source.ConfigMap.Name, source.ConfigMap.Items, isTrue(source.ConfigMap.Optional))
			}
			if p != nil {
				return p
			}
		}
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		return secretVolume(c, ns, v.CSI.NodePublishSecretRef.Name, nil, false)
	}
	return nil
}

func secretVolume(c Cluster, ns, name string, items []corev1.KeyToPath, optional bool) *problem {
	if optional {
		return nil
	}
	secret := c.Secret(ns, name)
	if secret == nil {
		return missing(world.Secrets, ns, name)
	}
	for _, item := range items {
		if !secretHas(secret, item.Key) {
			return &problem{
				message: "references non-existent secret key: " + item.Key,
				ref:     world.Ref{Kind: world.Secrets, Namespace: ns, Name: name},
			}
		}
	}
	return nil
}

func configMapVolume(c Cluster, ns, name string, items []corev1.KeyToPath, optional bool) *problem {
	if optional {
		return nil
	}
	cm := c.ConfigMap(ns, name)
	if cm == nil {
		return missing(world.ConfigMaps, ns, name)
	}
	for _, item := range items {
		_, text := cm.Data[item.Key]
		_, bytes := cm.BinaryData[item.Key]
		if !text && !bytes {
			return &problem{
				message: "configmap references non-existent config key: " + item.Key,
				ref:     world.Ref{Kind: world.ConfigMaps, Namespace: ns, Name: name},
			}
		}
	}
	return nil
}

func claimVolume(c Cluster, ns, name string) *problem {
	ref := world.Ref{Kind: world.Claims, Namespace: ns, Name: name}
	claim := c.Claim(ns, name)
	if claim == nil {
		return &problem{message: fmt.Sprintf("persistentvolumeclaim %q not found", name), ref: ref}
	}
	if claim.Status.Phase != corev1.ClaimBound {
		return &problem{message: fmt.Sprintf("persistentvolumeclaim %q is not bound", name), ref: ref}
	}
	return nil
}

// secretHas reports whether a Secret holds a key; an open one holds every key.
func secretHas(s *corev1.Secret, key string) bool {
	_, ok := s.Data[key]
	return ok || s.Annotations[OpenAnnotation] == "true"
}

func isTrue(b *bool) bool { return b != nil && *b }
