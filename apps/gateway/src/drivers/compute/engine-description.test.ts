import { describe, expect, test } from 'vitest'
import { engineDescriptionSchema, placeOf } from './engine-description.ts'

const TCP = {
  driver: 'docker',
  url: 'tcp://10.0.0.2:2376',
  ca_file: 'ca.pem',
  cert_file: 'cert.pem',
  key_file: 'key.pem',
  publish_address: '10.0.0.2',
}
const SSH = {
  driver: 'docker',
  url: 'ssh://berth@host.example',
  key_file: 'id_ed25519',
  host_key: `SHA256:${'A'.repeat(43)}`,
}

describe('an engine’s description', () => {
  test.each([
    [{ driver: 'auto' }],
    [{ driver: 'sandbox' }],
    [{ driver: 'sandbox', dir: '/srv/machines' }],
    [{ driver: 'qemu', dir: '/srv/vms' }],
    [{ driver: 'docker' }],
    [{ driver: 'docker', url: 'unix:///run/user/1000/docker.sock' }],
    [TCP],
    [{ ...TCP, url: 'tcp://[fd00::2]', publish_address: 'fd00::2' }],
    [{ ...SSH, runtime: 'io.containerd.kata.v2' }],
  ])('is taken: %o', described => {
    expect(engineDescriptionSchema.parse(described)).toEqual(described)
  })

  test.each([
    [{ driver: 'kubernetes', kubeconfig: 'kube/config' }],
    [{ driver: 'kubernetes', in_cluster: true, gateway_namespace: 'berth' }],
    [
      {
        driver: 'kubernetes',
        kubeconfig: '/etc/berth/kubeconfig',
        context: 'prod',
        storage_class: 'fast-ssd',
        shared_volumes: true,
        snapshot_class: 'csi-snapshots',
        gpu_exporter: { namespace: 'monitoring' },
        node_selector: { 'berth.example/machines': 'yes' },
        network_policies: 'enforced',
        customer_images: 'allowed',
        image_registry: { place_file: 'registry', pull_file: 'registry-pull', scratch_gb: 40 },
        customer_quota: { pods: 20, gpus: 8 },
      },
    ],
  ])('is taken, with what it leaves out: %o', described => {
    expect(engineDescriptionSchema.parse(described)).toMatchObject(described)
  })

  test('takes no images that customers name, unless the operator says so', () => {
    const described = { driver: 'kubernetes', kubeconfig: 'x' }
    expect(engineDescriptionSchema.parse(described)).toMatchObject({ customer_images: 'refused' })
  })

  test.each([
    ['a cluster that is nowhere', { driver: 'kubernetes' }, ['kubeconfig']],
    [
      'a cluster at two places',
      { driver: 'kubernetes', kubeconfig: 'x', in_cluster: true, gateway_namespace: 'berth' },
      ['kubeconfig'],
    ],
    ['machines that let nobody in', { driver: 'kubernetes', in_cluster: true }, ['gateway_namespace']],
    [
      'a class that is no name',
      { driver: 'kubernetes', kubeconfig: 'x', storage_class: '../x' },
      ['storage_class'],
    ],
    ['no driver that there is', { driver: 'podman' }, ['driver']],
    ['no url', { driver: 'docker', url: 'somewhere' }, ['url']],
    ['a url of another kind', { driver: 'docker', url: 'http://10.0.0.2:2375' }, ['url']],
    ['a password in the url', { ...SSH, url: 'ssh://berth:secret@host.example' }, ['url']],
    ['nobody to sign in as', { ...SSH, url: 'ssh://host.example' }, ['url']],
    [
      'TCP without TLS',
      { driver: 'docker', url: 'tcp://10.0.0.2:2375', publish_address: '10.0.0.2' },
      ['ca_file', 'cert_file', 'key_file'],
    ],
    ['TCP without an address for ports', { ...TCP, publish_address: undefined }, ['publish_address']],
    ['ports on every address', { ...TCP, publish_address: '0.0.0.0' }, ['publish_address']],
    ['ports on every address of IPv6', { ...TCP, publish_address: '::' }, ['publish_address']],
    ['SSH to whoever answers', { ...SSH, host_key: undefined }, ['host_key']],
    ['a host key of another form', { ...SSH, host_key: 'MD5:00' }, ['host_key']],
    ['TLS files for a socket', { driver: 'docker', ca_file: 'ca.pem' }, ['ca_file']],
    ['a runtime that is no name', { driver: 'docker', runtime: '../runsc' }, ['runtime']],
    ['a runtime of sandboxes', { driver: 'sandbox', runtime: 'runsc' }, ['']],
    ['virtual machines without a folder', { driver: 'qemu' }, ['dir']],
    ['a field that is none', { driver: 'sandbox', url: 'tcp://x' }, ['']],
  ])('is refused with the field: %s', (_, described, paths) => {
    const { error } = engineDescriptionSchema.safeParse(described)
    expect(error?.issues.map(({ path }) => path.join('.'))).toEqual(paths)
  })

  test('names the place', () => {
    expect(placeOf('tcp://[fd00::2]')).toEqual({ kind: 'tcp', host: 'fd00::2', port: 2376 })
    expect(placeOf('ssh://me@host.example:2222/run/docker.sock')).toEqual({
      kind: 'ssh',
      host: 'host.example',
      port: 2222,
      user: 'me',
      socket_path: '/run/docker.sock',
    })
  })
})
