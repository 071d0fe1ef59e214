/**
 * How large a picture is in pixels.
 * @returns Null where the browser cannot draw it, which need not be the picture's fault.
 */
export async function sizeOfPicture(file: Blob): Promise<{ width: number; height: number } | null> {
  try {
    const drawn = await createImageBitmap(file)
    const { width, height } = drawn
    drawn.close()
    return { width, height }
  } catch {
    return null
  }
}
