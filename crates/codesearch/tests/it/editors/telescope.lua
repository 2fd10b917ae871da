-- Writes the places that Telescope shows for each query, as lists of [file, line, column in bytes from 1].
local state = require 'telescope.actions.state'
local lists = {}
for _, query in ipairs(vim.json.decode(vim.env.QUERIES)) do
  local builtin = require('telescope.builtin')[query.picker]
  builtin(query.picker == 'grep_string' and { search = query.typed } or {})
  local picker
  vim.wait(60000, function()
    picker = state.get_current_picker(vim.api.nvim_get_current_buf())
    return picker ~= nil
  end)
  if query.picker == 'live_grep' then
    picker:set_prompt(query.typed)
  end
  -- Results come in the background; that all have come is compared by the test.
  vim.wait(60000, function()
    return picker.manager and picker.manager:num_results() >= query.expected
  end, 20)
  local places = {}
  for entry in picker.manager:iter() do
    table.insert(places, { vim.uv.fs_realpath(entry.path), entry.lnum, entry.col })
  end
  table.insert(lists, places)
  require('telescope.actions').close(picker.prompt_bufnr)
end
vim.fn.writefile({ vim.json.encode(lists) }, vim.env.OUT)
vim.cmd 'qall!'
