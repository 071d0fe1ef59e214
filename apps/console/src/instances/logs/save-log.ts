import { startLogDownload } from '@berth/contract/instance-page'
import { sendChange } from '../../api/change.ts'

/**
 * Has the browser save all that is kept of what an instance's program wrote: by an address that opens once.
 * @throws ApiError which has been toasted.
 */
export async function saveLog(instanceId: string): Promise<void> {
  const { path, name } = await sendChange(startLogDownload, { params: { id: instanceId } })
  const link = document.createElement('a')
  link.href = path
  link.download = name
  link.click()
}
