import type { CustomImage } from '@berth/contract/images'
import { Drawer } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isCovered } from '../ui/covering.ts'
import { BuildPart } from './BuildPart.tsx'
import { CreateImageForm } from './CreateImageForm.tsx'
import { EditImageForm } from './EditImageForm.tsx'
import type { SheetTask } from './sheet-task.ts'

/** As wide as a README needs to be written in. */
const WIDTH_PX = 560

interface ImageSheetProps {
  about: SheetTask
  opened: boolean
  onClose: () => void
}

/**
 * Where an image is made and described: a sheet beside the list, since it is long and the list stays in sight. Closing it
 * stops nothing, and what was typed is there when it is opened again.
 */
export function ImageSheet({ about, opened, onClose }: ImageSheetProps) {
  const { t } = useTranslation(['image-form', 'common'])
  const [made, setMade] = useState<CustomImage | null>(null)
  return (
    <Drawer
      opened={opened}
      onClose={() => isCovered() || onClose()}
      position="right"
      size={WIDTH_PX}
      title={titleOf()}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
    >
      {part()}
    </Drawer>
  )

  function titleOf(): string {
    if (made) return made.name
    if (about.task === 'edit') return t('edit.title', { name: about.image.name })
    if (about.task === 'version') return t('version.title', { name: about.image.name })
    if (about.task === 'progress') return about.image.name
    if (about.task === 'instance' && about.instance)
      return t('create.title_of', { name: about.instance.name })
    if (about.task === 'dockerfile') return t('create.title_dockerfile')
    return t(about.task === 'registry' ? 'create.title_registry' : 'create.title')
  }

  function part() {
    if (made) return <BuildPart image={made} onClose={onClose} />
    if (about.task === 'progress') return <BuildPart image={about.image} onClose={onClose} />
    if (about.task === 'edit') return <EditImageForm image={about.image} onClose={onClose} />
    return <CreateImageForm about={about} onMade={setMade} onClose={onClose} />
  }
}
