import { LayoutError } from '../../platform/image-layout/layout-error.ts'
import { ComputeError } from './port/compute-error.ts'

/**
 * What a driver says where the archive of an image is refused, as `OwnImages.load` has it.
 * @param imageId For the message.
 * @returns A function that throws: what the archive itself threw goes on as it is.
 */
export function refusedArchive(imageId: string): (error: unknown) => never {
  return error => {
    if (!(error instanceof LayoutError)) throw error
    const isDamaged = error.fault === 'cut' || error.fault === 'damaged'
    const code = isDamaged ? 'image_damaged' : 'image_unfit'
    throw new ComputeError(code, `the archive of ${imageId} is refused: ${error.message}`, { cause: error })
  }
}

/** @throws ComputeError where whoever asked has given up. */
export function mustGoOn(signal: AbortSignal): void {
  if (signal.aborted) throw new ComputeError('failed', 'the call was given up', { cause: signal.reason })
}
