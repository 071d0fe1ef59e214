import type { DeploySetup } from '@berth/contract/deploy-templates'
import { rowsOf } from '../../../machine-form/env/env-rows.ts'
import { portsToText } from '../../../ui/ports-text.ts'
import { stopRuleValues } from '../../../ui/stop-rules.ts'
import { NO_OWN_DISK } from '../StorageFold.tsx'
import { NO_VOLUME } from '../VolumeFields.tsx'

/**
 * A deploy that is repeated, as the form holds it.
 * @param setup Of a template or an instance: secret variables have no values, which are typed anew.
 */
export function setupValues(setup: DeploySetup) {
  const { name, gpu_count, region_code, container_disk_gb, start_command, on_command_end } = setup
  const { public_ip } = setup
  const { image_id, image_reference, registry_credential_id } = setup
  return {
    name,
    gpu_count,
    region_code,
    image_id,
    image_reference,
    registry_credential_id,
    container_disk_gb,
    data_disk_gb: setup.data_disk_gb ?? NO_OWN_DISK.data_disk_gb,
    pod_volume_gb: setup.pod_volume_gb ?? NO_OWN_DISK.pod_volume_gb,
    pod_volume_path: setup.pod_volume_path,
    http_ports: portsToText(setup.http_ports),
    tcp_ports: portsToText(setup.tcp_ports),
    udp_ports: portsToText(setup.udp_ports),
    public_ip,
    start_command,
    on_command_end,
    env: rowsOf(setup),
    ssh_key_ids: setup.ssh_key_ids,
    network_volume: setup.network_volume ?? NO_VOLUME,
    ...stopRuleValues(setup),
  }
}
