import { startFileDownload } from '@berth/contract/files'
import { sendChange } from '../../../api/change.ts'

/**
 * Has the browser save a file of an instance, or a folder as an archive: by an address that opens once.
 * @throws ApiError which has been toasted.
 */
export async function download(instanceId: string, path: string): Promise<void> {
  const { path: address, name } = await sendChange(startFileDownload, {
    params: { id: instanceId },
    body: { path },
  })
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
