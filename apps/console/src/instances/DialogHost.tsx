import type { Instance } from '@berth/contract/instances'
import { type ComponentType, type LazyExoticComponent, Suspense } from 'react'
import { lazyPart } from '../app/lazy-part.ts'
import type { Asked } from '../lists/use-asked.ts'
import type { RowAction } from './instance-actions.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'

type LazyDialog = LazyExoticComponent<ComponentType<InstanceDialogProps>>

const terms = () => import('./TermDialogs.tsx')
const addresses = () => import('./PublicIpDialogs.tsx')
const volumes = () => import('./VolumeDialogs.tsx')
const confirms = () => import('./ConfirmDialogs.tsx')

/** Each action's dialog; its code comes when it is first asked for. */
const DIALOGS: Record<RowAction, LazyDialog> = {
  connect: lazyPart(() => import('./ConnectDialog.tsx').then(module => module.ConnectDialog)),
  start: lazyPart(() => import('./StartDialog.tsx').then(module => module.StartDialog)),
  stop: lazyPart(() => confirms().then(module => module.StopDialog)),
  restart: lazyPart(() => confirms().then(module => module.RestartDialog)),
  edit: lazyPart(() => import('./EditDialog.tsx').then(module => module.EditDialog)),
  renew: lazyPart(() => terms().then(module => module.RenewDialog)),
  toggle_renewal: lazyPart(() => terms().then(module => module.RenewalDialog)),
  convert_charge_type: lazyPart(() => import('./BillingDialog.tsx').then(module => module.BillingDialog)),
  bind_public_ip: lazyPart(() => addresses().then(module => module.BindPublicIpDialog)),
  unbind_public_ip: lazyPart(() => addresses().then(module => module.UnbindPublicIpDialog)),
  attach_volume: lazyPart(() => volumes().then(module => module.AttachVolumeDialog)),
  detach_volume: lazyPart(() => volumes().then(module => module.DetachVolumeDialog)),
  create_image: lazyPart(() =>
    import('../images/CreateImageDialog.tsx').then(module => module.CreateImageDialog),
  ),
  events: lazyPart(() => import('./EventsDialog.tsx').then(module => module.EventsDialog)),
  logs: lazyPart(() => import('./LogsDialog.tsx').then(module => module.LogsDialog)),
  repeat: lazyPart(() => import('./RepeatInstance.tsx').then(module => module.RepeatInstance)),
  terminate: lazyPart(() => confirms().then(module => module.TerminateDialog)),
}

/** An action that a row was asked for; the instance as it was then, since one that is gone is still named while its dialog closes. */
export interface AskedAction {
  action: RowAction
  instance: Instance
}

/** The one dialog that is open, over the newest that is known of its instance. */
export function DialogHost({
  asked,
  instances,
}: {
  asked: Asked<AskedAction>
  instances: readonly Instance[]
}) {
  const { what, opened, close } = asked
  if (!what) return null
  const { action } = what
  const id = what.instance.instance_id
  const instance = instances.find(({ instance_id }) => instance_id === id) ?? what.instance
  const Dialog = DIALOGS[action]
  return (
    <Suspense>
      <Dialog key={`${action}${id}`} instance={instance} opened={opened} onClose={close} />
    </Suspense>
  )
}
