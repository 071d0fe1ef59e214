import type { Image } from '@berth/contract/images'
import { formatImageSize } from '@berth/contract/sizes'
import { type ComboboxItem, Select } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import classes from './ImageField.module.css'

/** So many are seen at once; of more one searches. */
const SEARCHED_FROM = 8

interface ImageFieldProps {
  images: readonly Image[]
  /** GPU memory of one GPU of the chosen spec, in GB. */
  vramGb: number
  /** What the form keeps of the field: its value and its error. */
  field: ReturnType<UseFormReturnType<{ image_id: string }>['getInputProps']>
  onChoose: (image: Image) => void
}

/** The image that a machine starts from: each with what is in it and its size, and what it needs where it is off. */
export function ImageField({ images, vramGb, field, onChoose }: ImageFieldProps) {
  const { t } = useTranslation(['explore', 'deploy'])
  const byId = new Map(images.map(image => [image.id, image]))
  const chosen = byId.get(String(field.value))
  return (
    <Select
      label={t('form.image')}
      description={chosen && <About image={chosen} vramGb={vramGb} />}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      allowDeselect={false}
      maxDropdownHeight={320}
      searchable={images.length > SEARCHED_FROM}
      nothingFoundMessage={t('deploy:image.none_found')}
      data={images.map(({ id, name, available }) => ({ value: id, label: name, disabled: !available }))}
      renderOption={({ option }: { option: ComboboxItem }) => {
        const image = byId.get(option.value)
        return (
          <span className={classes.option}>
            <span>{option.label}</span>
            {image && (
              <span className={classes.about}>
                <About image={image} vramGb={vramGb} />
              </span>
            )}
          </span>
        )
      }}
      {...field}
      onChange={id => {
        const image = byId.get(id ?? '')
        if (image) onChoose(image)
      }}
    />
  )
}

/** The second line of an image: what is in it, its size (R3.20), and what is in its way. */
function About({ image, vramGb }: { image: Image; vramGb: number }) {
  const { t, i18n } = useTranslation(['explore', 'deploy'])
  const size = formatImageSize(image.size)
  const about = [
    image.author !== null && t('deploy:image.by', { name: image.author }),
    image.version_info,
    size,
  ]
    .filter(Boolean)
    .join(' · ')
  if (!image.available) {
    const either = new Intl.ListFormat(i18n.language, { type: 'disjunction' })
    const engines = either.format(
      image.drivers.map(name => t(`engines.${name as 'docker'}`, { defaultValue: name })),
    )
    const why = t(`form.image_why.${image.unavailable_reason as 'not_on_engine'}`, { engines })
    return (
      <>
        {about} · <span className={classes.off}>{why}</span>
      </>
    )
  }
  if (image.min_vram_gb <= vramGb) return about
  return (
    <>
      {about} · <span className={classes.off}>{t('form.image_vram', { gb: image.min_vram_gb })}</span>
    </>
  )
}
