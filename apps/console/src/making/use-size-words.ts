import { useTranslation } from 'react-i18next'
import { linesOfSize, shapeOfSize, sizeText } from './picture-sizes.ts'

/** A size to choose, by a word that no other one has. */
interface SizeChoice {
  value: string
  label: string
}

/** What sizes are called beside each other, in the interface's language. */
export function useSizeWords() {
  const { t } = useTranslation('making')
  const unlessShared = (sizes: readonly string[], wordOf: (size: string) => string): SizeChoice[] => {
    const words = sizes.map(wordOf)
    return sizes.map((value, at) => {
      const word = words[at] ?? ''
      return { value, label: words.indexOf(word) === words.lastIndexOf(word) ? word : sizeText(value) }
    })
  }
  return {
    /** Pictures by their shape: `Square`, `3 : 2`. */
    ofPictures: (sizes: readonly string[]) =>
      unlessShared(sizes, size => {
        const shape = shapeOfSize(size)
        return shape === 'square' ? t('sizes.square') : (shape ?? sizeText(size))
      }),
    /** Films by their lines, and by how they lie where others have as many: `720p wide`. */
    ofFilms: (sizes: readonly string[]) => {
      const lines = sizes.map(size => linesOfSize(size).lines)
      return unlessShared(sizes, size => {
        const { lines: own, way } = linesOfSize(size)
        const isAlone = lines.indexOf(own) === lines.lastIndexOf(own)
        return isAlone ? own : t(`sizes.${way}`, { lines: own })
      })
    },
  }
}
