import { encode } from 'uqr'

/** Quiet modules around a code, as its standard asks for. */
const BORDER = 4

/** A QR code as one path of unit squares. @returns The side of the picture in modules, and the path. */
export function qrCode(text: string): { size: number; path: string } {
  const { size, data } = encode(text, { ecc: 'M', border: BORDER })
  const path = data
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('')
  return { size, path }
}

/** The same as a file: dark on white, whatever the theme is, so that it can be read anywhere. */
export function qrFile(text: string): string {
  const { size, path } = qrCode(text)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">`,
    `<rect width="${size}" height="${size}" fill="#ffffff"/>`,
    `<path fill="#000000" d="${path}"/>`,
    '</svg>',
    '',
  ].join('\n')
}
