import { type ImageCover, uploadCover } from '@berth/contract/own-images'
import { sendChange } from '../api/change.ts'
import { useUpload } from '../api/use-upload.ts'
import { faultOfCover } from './check-cover.ts'

/**
 * Sends pictures for a cover, as `useUpload`.
 * @param onTaken Given what the gateway keeps of it.
 * @param onSending Told whether one is on its way.
 */
export function useCoverUpload(
  onTaken: (cover: ImageCover) => void,
  onSending: (isSending: boolean) => void,
) {
  return useUpload({
    faultOf: faultOfCover,
    send: (file, signal) => sendChange(uploadCover, {}, { bytes: file, signal, silent: true }),
    onTaken,
    onSending,
  })
}
