import { type Instance, instance } from '@berth/contract/instances'

/**
 * An instance for tests, checked by the contract.
 * @param part What matters to the test; the rest is a running pod.
 */
export function madeInstance(part: Partial<Instance>): Instance {
  return instance.parse({
    instance_id: 'i-000000',
    name: 'machine',
    kind: 'POD',
    status: 'running',
    status_since: '2026-11-20T12:00:00.000Z',
    reason: null,
    progress: null,
    region_code: 'us-west',
    region_name: 'us-west',
    gpu_spec_id: 'rtx4090',
    gpu_spec_name: 'RTX 4090',
    gpu: true,
    gpu_count: 1,
    vram_gb: 24,
    vcpu: 12,
    memory_gb: 64,
    simulated: true,
    image_id: 'base',
    image_reference: null,
    image_name: 'Base',
    billing_type: 'postpay',
    charge_cycle: null,
    expiry_time: null,
    auto_renew: false,
    term_micro: null,
    eip: null,
    disks: {
      ...{ container_gb: 20, system_gb: 0, free_gb: 20, data_gb: 0, data_path: null },
      ...{ pod_volume_gb: 0, pod_volume_path: null, network_volume: null },
    },
    http_ports: [],
    tcp_ports: [],
    udp_ports: [],
    start_command: '',
    on_command_end: 'keep',
    command_end: null,
    stop_at: null,
    spend_limit_cents: null,
    idle_stop_minutes: null,
    currency: 'USD',
    running_micro_per_hour: '420000',
    stopped_micro_per_day: '0',
    cost_micro: '0',
    ready_at: null,
    stopped_at: null,
    deleted_on: null,
    created_at: '2026-11-20T12:00:00.000Z',
    machine: null,
    ...part,
  })
}
