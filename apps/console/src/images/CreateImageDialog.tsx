import type { Instance } from '@berth/contract/instances'
import { ImageSheet } from './ImageSheet.tsx'

interface CreateImageDialogProps {
  instance: Instance
  opened: boolean
  onClose: () => void
}

/** Makes an image of an instance, from the instance's own menu (R2.24). */
export function CreateImageDialog({ instance, ...rest }: CreateImageDialogProps) {
  return <ImageSheet about={{ task: 'instance', instance }} {...rest} />
}
