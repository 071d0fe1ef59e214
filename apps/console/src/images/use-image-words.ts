import type { Image } from '@berth/contract/images'
import { IMAGE_SCENES, type ImageScene } from '@berth/contract/own-images'
import { formatImageSize } from '@berth/contract/sizes'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'

/** Words for images, in the interface's language. */
export interface ImageWords {
  /** A scene; a tag of the catalogue that is none is said as it is. */
  tag: (tag: string) => string
  /** `24 GB VRAM`, or that any machine will do. */
  vram: (gb: number) => string
  /** Its size (R3.20). */
  size: (mb: number) => string
  /** `8188 http, 22 tcp`; empty without ports. */
  ports: (image: Pick<Image, 'http_ports' | 'tcp_ports'>) => string
}

/** Words for images; they change with the language. */
export function useImageWords(): ImageWords {
  const { t } = useTranslation('images')
  return useMemo(
    () => ({
      tag: tag => (isScene(tag) ? t(`scenes.${tag}`) : tag),
      vram: gb => (gb === 0 ? t('vram_any') : t('vram', { gb })),
      size: mb => formatImageSize(mb),
      ports: ({ http_ports, tcp_ports }) =>
        [...http_ports.map(port => `${port} http`), ...tcp_ports.map(port => `${port} tcp`)].join(', '),
    }),
    [t],
  )
}

function isScene(tag: string): tag is ImageScene {
  return IMAGE_SCENES.some(scene => scene === tag)
}
