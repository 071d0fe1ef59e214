import { ActionIcon } from '@mantine/core'
import { IconPhotoPlus } from '@tabler/icons-react'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'

interface PictureButtonProps {
  types: readonly string[]
  onFiles: (files: readonly File[]) => void
}

/** Chooses pictures for a message. */
export function PictureButton({ types, onFiles }: PictureButtonProps) {
  const { t } = useTranslation('chat')
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={types.join(',')}
        aria-label={t('pictures.choose')}
        onChange={event => {
          onFiles([...(event.currentTarget.files ?? [])])
          // The same file can be chosen once more after it was removed.
          event.currentTarget.value = ''
        }}
      />
      <ActionIcon
        size="lg"
        color="gray"
        aria-label={t('pictures.choose')}
        title={t('pictures.choose')}
        onClick={() => input.current?.click()}
      >
        <IconPhotoPlus size={18} stroke={1.6} />
      </ActionIcon>
    </>
  )
}
