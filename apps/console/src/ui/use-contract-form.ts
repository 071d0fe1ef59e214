import { type AmountValues, type RuleSaid, ruleOfMessage } from '@berth/contract/errors'
import { type FormErrors, type UseFormReturnType, useForm } from '@mantine/form'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type * as z from 'zod'

interface ContractFormOptions<Values extends Record<string, unknown>, Output> {
  /** A schema of the contract, or one built from its fields: the same object checks the call (R5). */
  schema: z.ZodType<Output, Values>
  initialValues: Values
  /** Sends the form, with `silent` set on the request: the failure is shown here. */
  onSubmit: (output: Output) => Promise<unknown>
}

export interface ContractForm<Values extends Record<string, unknown>, Output = unknown> {
  /** Mantine's form, for `form.getInputProps('name')` and `form.key('name')`. */
  form: UseFormReturnType<Values>
  /** For `<form onSubmit>`. */
  submit: (event?: FormEvent<HTMLFormElement>) => void
  /** Checks the form without sending it; what is wrong is said as if it was sent. Null where something is. */
  check: (element: HTMLFormElement | null) => Output | null
  busy: boolean
  /** What is wrong with the form and is no field's; null otherwise. Show it with `FormFailure`. */
  failure: string | null
}

/**
 * A form that checks itself with a contract schema. Whatever is wrong with it, found here or by the server, is said at
 * the field that holds it or, where none does, at the form; folded parts open around it, the first bad field gets the
 * focus, and what was typed is kept.
 * @param options See ContractFormOptions.
 */
export function useContractForm<Values extends Record<string, unknown>, Output>(
  options: ContractFormOptions<Values, Output>,
): ContractForm<Values, Output> {
  const { t } = useTranslation(['errors', 'common'])
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<string | null>(null)
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues: options.initialValues,
    validateInputOnBlur: false,
  })

  /** Says what is wrong. `general` is said where there is nothing particular. */
  const show = (faults: readonly Fault[], element: HTMLFormElement | null, general: string) => {
    const fields = fieldsOf(element)
    const { atFields, atForm } = placed(faults, new Set(fields.keys()))
    form.setErrors(atFields)
    const lines = atForm.map(({ path, text }) =>
      path === '' ? text : t('common:form.elsewhere', { field: path, text }),
    )
    setFailure(faults.length === 0 ? general : lines.join('\n') || null)
    reveal(Object.keys(atFields).flatMap(path => fields.get(path) ?? []))
  }

  const send = async (output: Output, element: HTMLFormElement | null) => {
    setBusy(true)
    try {
      await options.onSubmit(output)
    } catch (error) {
      const told = faultsOf(error)
      show(told?.faults ?? [], element, told?.message ?? t('internal'))
      // Nobody has said it yet: it is no failure of a call.
      if (told === null) throw error
    } finally {
      setBusy(false)
    }
  }

  const check = (element: HTMLFormElement | null): Output | null => {
    form.clearErrors()
    setFailure(null)
    const checked = options.schema.safeParse(form.getValues())
    if (checked.success) return checked.data
    show(
      brokenRules(checked.error, ({ rule, values }) => t(`rules.${rule}`, { ...(values as AmountValues) })),
      element,
      '',
    )
    return null
  }

  const submit = (event?: FormEvent<HTMLFormElement>) => {
    event?.preventDefault()
    // The form of a dialog that was opened from another form lies within that one, as React sees it: sending the one
    // must not send the other.
    event?.stopPropagation()
    const element = event?.currentTarget ?? null
    const output = check(element)
    if (output !== null) void send(output, element)
  }

  return { form, submit, check, busy, failure }
}

/** Something that is wrong, and where: names apart by dots, as `http_ports.1`. */
interface Fault {
  path: string
  text: string
}

/** The texts of the rules that values break. */
function brokenRules(error: z.ZodError, textOf: (said: RuleSaid) => string): Fault[] {
  return error.issues.map(({ path, message }) => ({
    path: path.join('.'),
    text: textOf(ruleOfMessage(message)),
  }))
}

/** The fields of a form that is on the page, by path. */
function fieldsOf(element: HTMLFormElement | null): Map<string, HTMLElement> {
  const nodes = [...(element?.querySelectorAll<HTMLElement>('[data-path]') ?? [])]
  return new Map(nodes.map(node => [node.dataset.path ?? '', node]))
}

/**
 * Where each fault is said: at the field with its path, else at the nearest one that holds it, as a list of ports holds
 * one of them; at the form where there is none. Of several faults of one field only the first is said.
 */
function placed(faults: readonly Fault[], fields: ReadonlySet<string>) {
  const atFields: FormErrors = {}
  const atForm: Fault[] = []
  for (const fault of faults) {
    const field = holderOf(fault.path, fields)
    if (field === null) atForm.push(fault)
    else atFields[field] ??= textWithin(fault, field)
  }
  return { atFields, atForm }
}

function holderOf(path: string, fields: ReadonlySet<string>): string | null {
  if (fields.has(path)) return path
  const dot = path.lastIndexOf('.')
  return dot < 0 ? null : holderOf(path.slice(0, dot), fields)
}

/** A fault of a part that has a name of its own, such as one variable of many, says which. */
function textWithin({ path, text }: Fault, field: string): string {
  const part = path.slice(field.length + 1)
  return part === '' || /^\d+$/.test(part) ? text : `${part}: ${text}`
}

/** Opens whatever is folded around fields, and puts the focus on the first one on the page. */
function reveal(fields: readonly HTMLElement[]): void {
  for (const field of fields) {
    for (let fold = field.closest('details'); fold; fold = fold.parentElement?.closest('details') ?? null) {
      fold.open = true
    }
  }
  const [first] = fields.toSorted((a, b) =>
    a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
  )
  first?.focus()
}

/** Reads an error that a call of the contract failed with; null for anything else. */
function faultsOf(error: unknown): { faults: Fault[]; message: string } | null {
  if (!(error instanceof Error) || !('fields' in error) || !Array.isArray(error.fields)) return null
  const fields: { path: string; msg: string }[] = error.fields
  return { faults: fields.map(({ path, msg }) => ({ path, text: msg })), message: error.message }
}
