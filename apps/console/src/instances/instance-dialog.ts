import type { Instance } from '@berth/contract/instances'

/** What every dialog of a row gets. */
export interface InstanceDialogProps {
  instance: Instance
  opened: boolean
  onClose: () => void
}
